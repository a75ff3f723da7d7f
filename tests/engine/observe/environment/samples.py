"""Outputs of commands as they are pasted, one for each form that a parser knows."""

from __future__ import annotations

NVIDIA_SMI = """\
Tue Mar 10 09:12:44 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   34C    P0             62W /  400W |   71432MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A100-SXM4-80GB          On  |   00000000:0A:00.0 Off |                    0 |
| N/A   91C    P0             61W /  400W |       4MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A           41200      C   /usr/bin/ollama                         5210MiB |
|    0   N/A  N/A           41822      C   VLLM::EngineCore                       66100MiB |
|    1   N/A  N/A            2210      G   /usr/lib/xorg/Xorg                         4MiB |
+-----------------------------------------------------------------------------------------+
"""

NVIDIA_SMI_L = """\
GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-0d5f6f5e-0000-1111-2222-333344445555)
GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-1d5f6f5e-0000-1111-2222-333344445555)
"""

NVIDIA_SMI_MIG = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-4c60d78c-0000-5593-938d-a136eaa1fa52)
  MIG 3g.20gb     Device  0: (UUID: MIG-7089d0f3-0000-5b1e-8bd8-5b1e8bd85b1e)
  MIG 3g.20gb     Device  1: (UUID: MIG-d8c9a2b1-0000-5b1e-8bd8-5b1e8bd85b1e)
"""

NVIDIA_SMI_Q = """\
==============NVSMI LOG==============

Timestamp                                 : Tue Mar 10 09:12:44 2026
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : Tesla T4
    FB Memory Usage
        Total                             : 15360 MiB
        Reserved                          : 443 MiB
        Used                              : 12 MiB
        Free                              : 14904 MiB
    BAR1 Memory Usage
        Total                             : 256 MiB
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Uncorrectable            : 3
"""

NVIDIA_SMI_LOST = """\
|   2  NVIDIA H100 80GB HBM3          On  |   00000000:5D:00.0 Off |                    0 |
|ERR!  ERR! ERR!             ERR! / ERR!  |       0MiB /  81559MiB |    ERR!      Default |
NVIDIA-SMI 550.54.15
"""

TOPOLOGY_NVLINK = """\
\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV12\tSYS\t0-31\t0
GPU1\tNV12\t X \tSYS\t32-63\t1
NIC0\tSYS\tSYS\t X
"""

TOPOLOGY_PCIE = """\
        GPU0    GPU1    CPU Affinity    NUMA Affinity
GPU0     X      SYS     0-15            0
GPU1    SYS      X      16-31           1
"""

COLLECT_ENV = """\
Collecting environment information...
==============================
        System Info
==============================
OS                           : Ubuntu 22.04.5 LTS (x86_64)
GCC version                  : (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
==============================
       PyTorch Info
==============================
PyTorch version              : 2.9.0+cu128
Is debug build               : False
CUDA used to build PyTorch   : 12.8
ROCM used to build PyTorch   : N/A
==============================
      Python Environment
==============================
Python version               : 3.12.11 (main, Jun  4 2025, 08:56:18) [GCC 11.4.0] (64-bit runtime)
==============================
       CUDA / GPU Info
==============================
Is CUDA available            : True
GPU models and configuration :
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version        : 550.54.15
cuDNN version                : Could not collect
==============================
Versions of relevant libraries
==============================
[pip3] numpy==2.2.6
[pip3] torch==2.9.0
[pip3] transformers==4.57.1
==============================
         vLLM Info
==============================
ROCM Version                 : Could not collect
vLLM Version                 : 0.11.0
==============================
     Environment Variables
==============================
NCCL_DEBUG=INFO
VLLM_USE_V1=1
CUDA_VISIBLE_DEVICES=0,1
"""

COLLECT_ENV_OLD = """\
PyTorch version: 2.4.0+rocm6.1
Is debug build: False
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.1.40091
Python version: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: False
"""

PIP_LIST = """\
Package                           Version
--------------------------------- -------------
numpy                             2.2.6
nvidia-nccl-cu12                  2.27.3
nvidia-nccl-cu13                  2.28.9
pynvml                            11.5.0
ray                               2.49.1
torch                             2.9.0+cu128
transformers                      5.1.0
vllm                              0.10.0
"""

PIP_FREEZE = """\
numpy==2.2.6
torch==2.8.0
transformers==4.57.1
vllm==0.11.0
"""

UV_PIP_LIST = """\
Using Python 3.12.9 environment at: .venv
Package            Version     Editable project location
------------------ ----------- -------------------------
torch              2.8.0
vllm               0.11.1rc2   /home/me/vllm
xgrammar           0.1.25
"""

PIP_SHOW = """\
Name: vllm
Version: 0.9.2
Summary: A high-throughput and memory-efficient inference and serving engine for LLMs
Name: torch
Version: 2.7.0
"""

TORCH_LINE = "2.9.0+cu130 13.0 False\n"
TORCH_CPU = "2.9.0+cpu None False\n"
TORCH_LINES = "2.8.0+cu128\nTrue\n(8, 6)\n"

LDCONFIG = """\
1234 libs found in cache `/etc/ld.so.cache'
\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda-12.9/compat/libcuda.so.1
\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12
\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1
"""
LDCONFIG_EMPTY = (
    "812 libs found in cache `/etc/ld.so.cache'\n\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1\n"
)

DF = """\
Filesystem      Size  Used Avail Use% Mounted on
overlay         1.8T  1.8T     0 100% /
tmpfs            64M     0   64M   0% /dev
shm              64M   12K   64M   1% /dev/shm
/dev/loop3       56M   56M     0 100% /snap/core18/2829
/dev/nvme0n1p2  3.5T  2.1T  1.4T  61% /root/.cache/huggingface
"""
DF_BLOCKS = """\
Filesystem     1K-blocks      Used Available Use% Mounted on
tmpfs           16777216  16777216         0 100% /dev/shm
/dev/sda1      102400000  40000000  62400000  40% /
"""

FREE = """\
               total        used        free      shared  buff/cache   available
Mem:            31Gi        30Gi       212Mi        10Mi       800Mi       640Mi
Swap:             0B          0B          0B
"""
FREE_KIB = """\
               total        used        free      shared  buff/cache   available
Mem:       131923188    18203444     9532120       51672   105232080   113719744
Swap:        8388604           0     8388604
"""
FREE_GIB = """\
              total        used        free      shared  buff/cache   available
Mem:            125          17           9           0         100         108
"""
MEMINFO = "MemTotal:       65842124 kB\nMemFree:          512344 kB\nMemAvailable:   50331648 kB\n"

DMESG = """\
[ 812.101] NVRM: Xid (PCI:0000:3b:00): 31, pid=4012, name=python3, Ch 00000008, intr 00000000. MMU Fault
[ 990.404] Memory cgroup out of memory: Killed process 12563 (VLLM::EngineCor) total-vm:169899kB, anon-rss:4189kB, UID:0
"""
DMESG_HOST = "[ 990.4] Out of memory: Killed process 77 (python3) total-vm:169899kB, anon-rss:4189kB\n"
DMESG_OTHER = "[ 990.4] Out of memory: Killed process 77 (mysqld) total-vm:169899kB, anon-rss:4189kB\n"

DESCRIBE_POD = """\
Name:             vllm-0
Namespace:        llm
Controlled By:    StatefulSet/vllm
Containers:
  vllm:
    Image:         vllm/vllm-openai:v0.11.0
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Ready:          False
    Restart Count:  6
    Limits:
      memory:          16Gi
      nvidia.com/gpu:  1
    Requests:
      memory:          16Gi
    Environment:
      VLLM_LOGGING_LEVEL:  DEBUG
      HF_TOKEN:            <set to the key 'token' in secret 'hf'>  Optional: false
    Mounts:
      /root/.cache from cache (rw)
"""
DESCRIBE_PROBE = """\
    Last State:     Terminated
      Reason:       Error
      Exit Code:    143
    Restart Count:  4
Events:
  Warning  Unhealthy  2m (x9 over 5m)  kubelet  Liveness probe failed: connection refused
  Normal   Killing    2m               kubelet  Container vllm failed liveness probe, will be restarted
"""
EVENTS = """\
LAST SEEN   TYPE      REASON             OBJECT       MESSAGE
3m          Warning   FailedScheduling   pod/v-0      0/4 nodes are available: 4 Insufficient nvidia.com/gpu. more
"""

IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tPort 1:
\t\tState: Down
\t\tPhysical state: Disabled
\t\tLink layer: Ethernet
"""
IBSTAT_DOWN = "CA 'mlx5_0'\n\tCA type: MT4119\n\tPort 1:\n\t\tState: Down\n\t\tLink layer: Ethernet\n"
IBV_NONE = "No IB devices found\n"

ENV = """\
HOSTNAME=gpu-7
PATH=/usr/local/bin:/usr/bin
VLLM_ATTENTION_BACKEND=FLASH_ATTN
HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz
NCCL_P2P_DISABLE=1
https_proxy=http://10.1.2.3:3128
EDITOR=vi
"""
EXPORTED = 'declare -x CUDA_VISIBLE_DEVICES="0,1"\ndeclare -x HOME="/root"\n'

ULIMIT = """\
core file size              (blocks, -c) 0
max locked memory           (kbytes, -l) 64
open files                          (-n) 1024
"""
PROC_LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max open files            1048576              1048576              files
Max locked memory         unlimited            unlimited            bytes
"""

ALL = {name: text for name, text in list(globals().items()) if name.isupper() and isinstance(text, str)}
