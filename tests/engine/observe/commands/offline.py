import os

from vllm import LLM, SamplingParams

os.environ["VLLM_USE_V1"] = "1"

llm = LLM(
    model="Qwen/Qwen3-8B",
    tensor_parallel_size=2,  # two cards
    max_model_len=32768,
    enforce_eager=True,
    limit_mm_per_prompt={"image": 4},
)
print(llm.generate("你好", SamplingParams(max_tokens=16)))
