# 推荐设置 set -o pipefail,如果管道命令中的任何一个命令失败,则整个管道命令将被视为失败,返回非零。
set -o pipefail
# 可选:覆盖 OUTPUT_DIR 或其他关键变量
export MODEL_NAME="meta-llama/Llama-3.2-3B-Instruct"
export OUTPUT_DIR=${OUTPUT:-"/mnt/zhaoyinghao/train_lora_llama3"}  # 用户自定义输出目录,可被网页环境变量覆盖

# 调用训练脚本
# 由于 tee 的命令总是会执行成功(退出码为 0),上方设置 set -o pipefail 后可保证捕获管道中异常
bash /mnt/zhaoyinghao/train_lora_llama3/launch_ddp.sh | tee ${OUTPUT_DIR}/launch_ddp.log

# 获取上一条命令的返回值,便于排查问题
# 若为0,表示正常退出,否则表示出现异常,而可以进行异常检测。
ret=$?
if [[ ${ret} -ne 0 ]]; then
echo "[$(date +"%Y-%m-%d %H:%M:%S")] $HOSTNAME 训练失败!现场保留时间为 10000s"
sleep 10000
fi

exit $?
