#!/bin/sh
# The document's script, adapted: two processes a pod instead of as many as it has CPUs.
export MYRANK="${POD_NAME##*-}"
export JOBNAME="${POD_NAME%-*}"
export PYTHONUNBUFFERED='1'
export PET_MASTER_PORT=$POD_PORT
export PET_MASTER_ADDR="${JOBNAME}-0.${SVC_NAME}.${POD_NAMESPACE}.svc.cluster.local"
export PET_NODE_RANK=$MYRANK
export PET_NNODES=$POD_NUMS
export PET_NPROC_PER_NODE=2
echo "node $PET_NODE_RANK of $PET_NNODES, $PET_NPROC_PER_NODE processes each"
user_command
