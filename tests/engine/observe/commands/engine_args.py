from vllm import AsyncEngineArgs, AsyncLLMEngine

args = AsyncEngineArgs(model="Qwen/Qwen3-8B", max_model_len=32768, gpu_memory_utilization=0.9)
engine = AsyncLLMEngine.from_engine_args(args)
