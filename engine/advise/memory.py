"""The arithmetic of GPU memory: what weights, one token and one request take, and what fits into what is left.

Pure figures in, pure figures out. Everything is per GPU, in GiB of 2^30 bytes and as vLLM counts it, so that results
can be held against its start-up log. What nobody can know before a start, activations and CUDA graphs, is assumed, and
every result that rests on it is marked by the caller.
"""

from __future__ import annotations

from engine.model import Value

GIB = 1 << 30
BLOCK = 16  # tokens of a block of the KV cache unless told
LARGE_CARD = 70.0  # GiB from which vLLM's defaults are larger
LARGE_MODEL = 50.0  # GiB of weights from which a profile run was seen to take half as much again


class Shape(Value):
    """What of a model decides about memory. `latent` (MLA) stands for kv_heads and head_dim. `weights_gib` None where
    the number of parameters is unknown; `measured` when it is the size of the files themselves."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    latent: int = 0
    windowed: int = 0
    window: int = 0
    stateless: int = 0
    weights_gib: float | None = None
    measured: bool = False
    bits: int = 16
    positions: int | None = None

    def kv_heads_of_rank(self, tensor_parallel: int) -> int:
        """KV heads on one GPU: once there are more GPUs than heads, heads are replicated."""
        return max(1, -(-self.kv_heads // tensor_parallel))


class Setup(Value):
    """How the model is deployed. `kv_bytes` are those of one number in the KV cache."""

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    kv_bytes: float = 2.0
    block: int = BLOCK
    batched_tokens: int | None = None
    eager: bool = False


class Budget(Value):
    """Where the memory of one GPU goes. `assumed` GiB are activations and graphs."""

    total: float
    utilization: float
    weights: float
    activations: float
    graphs: float

    @property
    def requested(self) -> float:
        return self.total * self.utilization

    @property
    def kv(self) -> float:
        """What is left for the KV cache; negative when not even the weights fit."""
        return self.requested - self.weights - self.activations - self.graphs


def budget(shape: Shape, setup: Setup, total: float, utilization: float) -> Budget:
    """The budget of one GPU with `total` GiB. Raises ValueError when the weights are not known."""
    if shape.weights_gib is None:
        raise ValueError("the weights of this shape are not known")
    activations, graphs = assumed(total, shape.weights_gib, setup)
    return Budget(total, utilization, weights(shape, setup), activations, graphs)


def weights(shape: Shape, setup: Setup) -> float:
    """GiB of weights on one GPU: they are divided by both kinds of parallelism."""
    return (shape.weights_gib or 0.0) / setup.tensor_parallel / setup.pipeline_parallel


def assumed(total: float, all_weights: float, setup: Setup) -> tuple[float, float]:
    """GiB of activations with the CUDA context, and of graphs: what was seen on cards of 24 and of 80 GiB.

    Half of the first grows with the tokens of one step, of which a card of LARGE_CARD has four times as many."""
    large = total >= LARGE_CARD
    activations, graphs = (2.0, 1.0) if large else (1.4, 0.5)
    if large and all_weights >= LARGE_MODEL:
        activations, graphs = 3.0, 1.5
    if setup.batched_tokens:
        activations *= 0.5 + 0.5 * setup.batched_tokens / default_batched_tokens(total)
    return activations, 0.0 if setup.eager else graphs


def default_batched_tokens(total: float) -> int:
    """Tokens of one step unless told."""
    return 16_384 if total >= 160 else 8_192 if total >= LARGE_CARD else 2_048


# -- the KV cache -----------------------------------------------------------------------------------------------------


def layers_of_rank(shape: Shape, setup: Setup) -> tuple[int, int]:
    """Layers on the fullest GPU that keep every token, and those that keep a window."""
    windowed = -(-shape.windowed // setup.pipeline_parallel)
    whole = -(-(shape.layers - shape.windowed - shape.stateless) // setup.pipeline_parallel)
    return whole, windowed


def layer_bytes(shape: Shape, setup: Setup) -> float:
    """Bytes of one token in one layer of one GPU. MLA keeps one vector for K and V, which every GPU holds whole."""
    if shape.latent:
        return shape.latent * setup.kv_bytes
    return 2 * shape.kv_heads_of_rank(setup.tensor_parallel) * shape.head_dim * setup.kv_bytes


def bytes_per_token(shape: Shape, setup: Setup) -> int:
    """Bytes that one token takes on one GPU while all layers keep it."""
    return int(sum(layers_of_rank(shape, setup)) * layer_bytes(shape, setup))


def need(shape: Shape, setup: Setup, length: int) -> int:
    """Bytes of KV cache that one request of `length` tokens takes on one GPU."""
    whole, windowed = layers_of_rank(shape, setup)
    page = setup.block * layer_bytes(shape, setup)
    blocks = -(-length // setup.block)
    if windowed:
        in_flight = setup.batched_tokens or default_batched_tokens(LARGE_CARD)
        of_window = -(-min(shape.window - 1 + in_flight, length) // setup.block) + 1
        return int(page * (blocks * whole + of_window * windowed))
    return int(page * blocks * whole)


def tokens(shape: Shape, setup: Setup, available: float, length: int | None = None) -> int:
    """Tokens that `available` GiB hold. Where layers keep a window this depends on the `length` of the requests."""
    if shape.windowed:
        length = length or shape.positions or 8_192
        return int(concurrency(shape, setup, available, length) * length)
    return blocks(shape, setup, available) * setup.block


def blocks(shape: Shape, setup: Setup, available: float) -> int:
    """Whole blocks of the KV cache in `available` GiB, windows apart."""
    page = setup.block * layer_bytes(shape, setup) * layers_of_rank(shape, setup)[0]
    return max(0, int(available * GIB // page)) if page else 0


def concurrency(shape: Shape, setup: Setup, available: float, length: int) -> float:
    """Requests of `length` tokens that are held at once, as vLLM prints it at start-up."""
    if shape.windowed:
        return max(0.0, available * GIB / need(shape, setup, length))
    return blocks(shape, setup, available) / -(-length // setup.block)


def longest(shape: Shape, setup: Setup, available: float, spare: int = 0) -> int:
    """The most tokens of one request that `available` GiB hold, in whole blocks; 0 when not even one block fits.

    `spare`: blocks that are set aside first; recent versions keep one."""
    if not shape.windowed:
        return max(0, blocks(shape, setup, available) - spare) * setup.block
    low, high = 0, 1
    while need(shape, setup, high * setup.block) <= available * GIB and high < 1 << 24:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if need(shape, setup, middle * setup.block) <= available * GIB else (low, middle)
    return max(0, low - spare) * setup.block


def rounded_down(length: float) -> int:
    """A length that rests on an assumption, as one would set it: in steps of 256 tokens, from 8,192 on of 1,024."""
    step = 1_024 if length >= 8_192 else 256 if length >= 1_024 else BLOCK
    return max(0, int(length) // step * step)


def scaled(length: int, needed: float, available: float) -> int:
    """The longest context by rule of three, from the two rounded figures of the message that refuses to start. Rounding
    counts against the result, which is `rounded_down`."""
    if needed <= 0 or available <= 0:
        return 0
    return rounded_down(length * max(0.0, available - 0.005) / (needed + 0.005))
