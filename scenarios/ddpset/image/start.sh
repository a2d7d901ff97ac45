#!/bin/sh

# 从 POD_NAME 中提取 Pod 的数字标识，例如从 "statefulset_name-n" 中提取出 "n"
export MYRANK="${POD_NAME##*-}"

# 去除 POD_NAME 中的数字后缀，提取任务基础名称
export JOBNAME="${POD_NAME%-*}"

# 设置 Python 输出无缓冲，便于日志实时显示（对 PyTorch 训练有帮助）
export PYTHONUNBUFFERED='1'

# 继承由系统注入的通信端口
export MASTER_PORT=$POD_PORT
export PET_MASTER_PORT=$POD_PORT

# 构造主节点地址：默认设定序号为 0 的 Pod 为主节点
export MASTER_ADDR="${JOBNAME}-0.${SVC_NAME}.${POD_NAMESPACE}.svc.cluster.local"
export PET_MASTER_ADDR="${JOBNAME}-0.${SVC_NAME}.${POD_NAMESPACE}.svc.cluster.local"

# 设置分布式训练的全局进程数、当前进程编号等参数
export WORLD_SIZE=$POD_NUMS
export RANK=$MYRANK
export PET_NODE_RANK=$MYRANK

# 如有需要，可自动设定每个节点内的进程数（此处默认设置为 'auto'）
export PET_NPROC_PER_NODE='auto'
export PET_NNODES=$WORLD_SIZE

# 输出当前配置信息，便于调试验证
echo "Port is $PET_MASTER_PORT, master addr is $MASTER_ADDR, world size is $WORLD_SIZE, rank is $RANK"

# 执行用户自定义命令（例如启动分布式训练任务）
user_command
