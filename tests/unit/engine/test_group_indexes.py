"""C³, Quest, UNIQUE and ClusterKV: what is read, against the definitions and hand examples."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from murmur_cli.engine import retrieval_step
from murmur_cli.engine.indexes.c3 import C3Index
from murmur_cli.engine.policies.c3 import C3
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.errors import UsageError
from support.indexed_speech import RATES, IndexedSpeech


def drawn(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def dense(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Full attention in float64, (rows, query_heads, head_dim)."""
    group = query.shape[1] // keys.shape[1]
    k, v = (part.double().repeat_interleave(group, dim=1) for part in (keys, values))
    shares = torch.softmax(torch.einsum("rhd,rhnd->rhn", query.double(), k), dim=2)
    return torch.einsum("rhn,rhnd->rhd", shares, v)


# --- pages ----------------------------------------------------------------------------------------


def test_quest_when_two_pages_then_the_hand_example() -> None:
    # Bounds of q = (1, -1): page 0 holds (1, 0), (0, 1): 1; page 1 (2, -1), (-1, 2): 3.
    keys = torch.tensor([[[[1.0, 0.0], [0.0, 1.0], [2.0, -1.0], [-1.0, 2.0]]]])
    speech = IndexedSpeech("quest", keys, budget=2, page=2, least_pages=1)
    assert speech.kept(torch.tensor([[[1.0, -1.0]]])) == [[{2, 3}]]


@pytest.mark.parametrize(("name", "group"), [("quest", 1), ("quest", 3), ("unique", 3)])
def test_pages_when_of_one_entry_then_the_best_products(name: str, group: int) -> None:
    keys, query = drawn(2, 2, 31, 8), drawn(2, 2 * group, 8, seed=1)
    speech = IndexedSpeech(name, keys, budget=7, page=1, least_pages=1)
    products = torch.einsum("rhgd,rhnd->rhgn", query.view(2, 2, group, 8), keys).amax(dim=2)
    wanted = products.topk(7, dim=2).indices
    assert speech.kept(query) == [[set(head.tolist()) for head in row] for row in wanted]


def test_unique_when_pages_hold_two_entries_then_reads_what_quest_reads() -> None:
    keys = drawn(2, 2, 40, 8)
    options = {"budget": 10, "page": 2}
    quest, unique = (IndexedSpeech(name, keys, **options) for name in ("quest", "unique"))
    for seed in range(20):
        query = drawn(2, 4, 8, seed=seed)
        assert unique.kept(query) == quest.kept(query)


def test_quest_when_budget_is_small_then_three_pages_and_the_last_may_be_short() -> None:
    speech = IndexedSpeech("quest", drawn(1, 1, 35, 4), budget=1)
    kept = speech.kept(drawn(1, 1, 4, seed=1))[0][0]
    assert kept == set(range(35))  # 16, 16 and 3


def test_quest_when_mean_is_asked_for_then_the_highest_means() -> None:
    keys, query = drawn(1, 1, 24, 4), drawn(1, 1, 4, seed=1)
    speech = IndexedSpeech("quest", keys, budget=8, page=4, score="mean", least_pages=1)
    means = keys.view(6, 4, 4).mean(dim=1) @ query[0, 0]
    wanted = {4 * page + entry for page in means.topk(2).indices.tolist() for entry in range(4)}
    assert speech.kept(query)[0][0] == wanted


# --- clusters -------------------------------------------------------------------------------------


def test_clusterkv_when_two_blobs_then_exactly_the_near_one() -> None:
    near = torch.tensor([1.0, 0.0, 0.0, 0.0])
    keys = torch.stack([near if entry % 3 else -near for entry in range(12)])[None, None]
    keys = keys + 0.01 * drawn(1, 1, 12, 4)
    speech = IndexedSpeech("clusterkv", keys, budget=8, cluster=6)
    assert speech.kept(near[None, None]) == [[{entry for entry in range(12) if entry % 3}]]


def test_clusterkv_when_the_last_cluster_does_not_fit_then_its_earliest_entries() -> None:
    near = torch.tensor([1.0, 0.0])
    is_near = [entry % 4 in (1, 2) for entry in range(12)]
    keys = torch.stack([near if is_near[entry] else -near for entry in range(12)])[None, None]
    speech = IndexedSpeech("clusterkv", keys, budget=4, cluster=6)
    assert speech.kept(near[None, None]) == [[{1, 2, 5, 6}]]


def test_clusterkv_when_every_entry_is_a_cluster_then_the_best_products() -> None:
    keys, query = drawn(1, 2, 15, 8), drawn(1, 2, 8, seed=1)
    speech = IndexedSpeech("clusterkv", keys, budget=6, cluster=1)
    wanted = torch.einsum("rhd,rhnd->rhn", query, keys).topk(6, dim=2).indices
    assert speech.kept(query) == [[set(head.tolist()) for head in wanted[0]]]


# --- C3 -------------------------------------------------------------------------------------------


def active_nodes(index: C3Index, slot: int, head: int) -> list[tuple[int, int]]:
    """Ranges of the active nodes of one head, ascending."""
    number = int(index.table.counts[0, slot, head])
    starts = index.table.starts[0, slot, head, :number].tolist()
    ends = index.table.ends[0, slot, head, :number].tolist()
    return sorted(zip(starts, ends, strict=True))


ADAPTIVE = {"c3": {}, "c3r": {"second_order": False, "reach": 0, "split": "spread"}}
"""What lets nodes move, beside operations."""


@pytest.mark.parametrize("name", ["c3", "c3r"])
def test_c3_when_a_thousand_steps_then_nodes_share_out_all_entries(name: str) -> None:
    keys = drawn(2, 2, 90, 8)
    speech = IndexedSpeech(name, keys, budget=20, granularity=8, operations=2, **ADAPTIVE[name])
    assert isinstance(speech.index, C3Index)
    moved = set()
    for step in range(1, 1001):
        query = drawn(2, 4, 8, seed=step) if step % 3 else keys[:, :, step % 90].repeat(1, 2, 1)
        chosen = speech.select(query, step)
        nodes = active_nodes(speech.index, 1, 0)
        moved.add(tuple(nodes))
        if step % 50 == 0:
            for slot in (1, 2):
                for head in (0, 1):
                    nodes = active_nodes(speech.index, slot, head)
                    assert len(nodes) == 12  # ceil(90 / 8)
                    assert (nodes[0][0], nodes[-1][1]) == (0, 90)
                    assert all(end == start for (_, end), (start, _) in pairwise(nodes))
            kept = speech.entries_of(chosen)
            counts = {len(entries) for row in kept for entries in row}
            # With a remainder a node that does not fit stays a summary; without, it is cut.
            assert counts == {20} if name == "c3" else max(counts) <= 20
    assert len(moved) > 10


@pytest.mark.parametrize("name", ["c3", "c3r"])
def test_c3_when_run_twice_then_the_same(name: str) -> None:
    keys = drawn(1, 2, 50, 8)
    runs = []
    for _ in range(2):
        speech = IndexedSpeech(name, keys, budget=9, granularity=4, operations=2, **ADAPTIVE[name])
        runs.append([speech.kept(drawn(1, 2, 8, seed=step), step) for step in range(1, 30)])
    assert runs[0] == runs[1]


def test_c3_when_decoded_again_in_the_slot_then_as_the_first_time() -> None:
    """A retry decodes from the speech that is there: nothing of the first decode may be left."""
    keys = drawn(1, 2, 50, 8)
    speech = IndexedSpeech("c3", keys, budget=9, granularity=4)
    queries = [drawn(1, 2, 8, seed=step) for step in range(1, 20)]
    first = [speech.kept(query, step) for step, query in enumerate(queries, start=1)]
    speech.index.begin(speech.rows(0))
    speech.index.settle(speech.rows(0))
    assert [speech.kept(query, step) for step, query in enumerate(queries, start=1)] == first


def test_c3_when_leaves_are_entries_then_the_best_cosines() -> None:
    keys, query = drawn(1, 2, 20, 8), drawn(1, 2, 8, seed=1)
    speech = IndexedSpeech("c3", keys, budget=6, granularity=1, leaf=1)
    cosines = torch.nn.functional.cosine_similarity(query[:, :, None], keys, dim=3)
    wanted = cosines.topk(6, dim=2).indices
    assert speech.kept(query) == [[set(head.tolist()) for head in wanted[0]]]


def test_c3_when_one_head_is_sure_then_its_cluster_comes_first() -> None:
    """Cosines .95 and .05 of the sure head beat .6 and .6: a mean would rank the other way."""
    sure, diffuse = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0])
    one = torch.tensor([0.95, 0.0, (1 - 0.95**2) ** 0.5])
    other = torch.tensor([0.6, 0.6, (1 - 0.72) ** 0.5])
    keys = torch.stack([one, other] * 4)[None, None]
    speech = IndexedSpeech("c3", keys, budget=4, granularity=4, leaf=4)
    query = torch.stack([sure, diffuse])[None]
    assert speech.kept(query) == [[{0, 2, 4, 6}]]


def test_c3r_when_tilts_are_beyond_float16_then_the_mix_is_of_numbers() -> None:
    keys = 1000 * drawn(1, 1, 60, 8)
    speech = IndexedSpeech("c3r", keys, keys, dtype=torch.float16, budget=20)
    mixed, _, _ = speech.attend(1e-4 * drawn(1, 1, 8, seed=1).half())
    assert isinstance(speech.index, C3Index)
    spread = speech.index.table.second_order
    assert spread is not None
    assert spread.tilts.abs().max() == torch.finfo(torch.float16).max
    assert mixed.isfinite().all()


@pytest.mark.parametrize("budget", [8, 12, 16])
def test_c3r_when_the_budget_is_small_then_every_head_reads_something(budget: int) -> None:
    """A few keys far from all others make every split: what is left must not be one node."""
    keys = drawn(2, 2, 120, 8) * 0.01
    keys[:, :, ::10] = drawn(2, 2, 12, 8, seed=4) * 30
    speech = IndexedSpeech("c3r", keys, budget=budget, granularity=5)
    for slot in (1, 2):
        for head in (0, 1):
            sizes = [end - start for start, end in active_nodes(speech.index, slot, head)]
            assert max(sizes) <= budget
    for step in range(1, 4):
        kept = speech.kept(drawn(2, 4, 8, seed=step), step)
        assert all(0 < len(entries) <= budget for row in kept for entries in row)


@pytest.mark.parametrize(("entries", "read"), [(63, 63), (64, 64), (100, 64), (2000, 160)])
def test_c3r_when_a_share_of_the_speech_is_little_then_least_is_read(
    entries: int, read: int
) -> None:
    rule = build_policy("c3r", {}, RATES).speech
    assert isinstance(rule, C3)
    assert rule.reads_all(entries) == (entries <= 64)
    assert rule.most_read(entries) == read
    given = build_policy("c3r", {"budget": "0.5", "least": "10"}, RATES).speech
    assert isinstance(given, C3)
    assert [given.most_read(n) for n in (8, 15, 40)] == [8, 10, 20]
    number = build_policy("c3r", {"budget": "5"}, RATES).speech
    assert isinstance(number, C3)
    assert number.most_read(entries) == 5


def test_c3r_when_its_share_is_below_least_then_heads_read_so_many() -> None:
    speech = IndexedSpeech("c3r", drawn(1, 2, 100, 8), budget=0.08, granularity=10)
    kept = speech.kept(drawn(1, 2, 8, seed=3))
    # Whole nodes of up to 64; by the share alone it would be 8.
    assert all(8 < len(entries) <= 64 for entries in kept[0])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, (True, 1.0)),
        ({"operations": "2"}, (False, 0.0)),
        ({"remainder": "false"}, (False, 0.0)),
        ({"rank": "dot"}, (True, 0.0)),
        ({"second_order": "false"}, (False, 0.0)),
        ({"reach": "2"}, (True, 2.0)),
    ],
    ids=str,
)
def test_c3r_when_options_need_each_other_then_what_is_not_given_steps_back(
    options: dict[str, str], wanted: tuple[bool, float]
) -> None:
    rule = build_policy("c3r", options, RATES).speech
    assert isinstance(rule, C3)
    assert (rule.second_order, rule.reach) == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"second_order": "true", "operations": "2"}, "give operations=0, or second_order=false"),
        ({"second_order": "true", "remainder": "false"}, "give remainder=true, or second_order"),
        ({"reach": "2", "rank": "cosine"}, "give rank=mass and second_order=true, or reach=0"),
        ({"reach": "11"}, "give 0 to 10"),
        ({"split": "depth"}, "give one of size, spread"),
        ({"least": "0"}, "give 1 or more"),
    ],
    ids=str,
)
def test_c3r_when_options_contradict_then_usage_error_says_what_to_give(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        build_policy("c3r", options, RATES)


@pytest.mark.parametrize("second_order", [False, True])
def test_c3r_when_a_node_does_not_fit_then_it_is_a_summary_and_nothing_is_counted_twice(
    second_order: bool,
) -> None:
    keys, values = drawn(1, 1, 40, 8), drawn(1, 1, 40, 8, seed=5)
    speech = IndexedSpeech(
        "c3r",
        keys,
        values,
        budget=20,
        granularity=8,
        second_order=second_order,
        reach=int(second_order),
    )
    query = drawn(1, 1, 8, seed=1)
    mixed, seen, (read,) = speech.attend(query, probe_heads=[0])
    kept = speech.kept(query)[0][0]
    assert 0 < len(kept) <= 20
    # ceil(40 / 8) summaries are scored; tilts of 8 by 8 are as large as 4 entries.
    assert read == len(kept) + 5 + (4 if second_order else 0)
    # By hand: the read entries, and the mean of each other node.
    order = speech.index._speech.permutation[0, 1, 0].tolist()
    assert isinstance(speech.index, C3Index)
    groups = [[entry] for entry in kept]
    product = torch.zeros(8, 8, dtype=torch.float64)
    for start, end in active_nodes(speech.index, 1, 0):
        node = order[start:end]
        around = [part[0, 0, node].double() for part in (keys, values)]
        around = [part - part.mean(dim=0) for part in around]
        product += around[0].T @ around[1]
        if not kept & set(node):
            groups.append(node)
        else:
            assert kept >= set(node)
    k = torch.stack([keys[0, 0, group].double().mean(dim=0) for group in groups])
    v = torch.stack([values[0, 0, group].double().mean(dim=0) for group in groups])
    sizes = torch.tensor([float(len(group)) for group in groups], dtype=torch.float64)
    scores, wanted_mix = k @ query[0, 0].double() + sizes.log(), torch.zeros(8)
    if second_order:
        q = query[0, 0].double()
        variances = [keys[0, 0, group].double().var(dim=0, correction=0).mean() for group in groups]
        scores += (q.square().sum() * torch.stack(variances) / 2).clamp(max=3)
        share = torch.softmax(scores, dim=0)[len(kept) :].sum()
        wanted_mix = share * (q @ product) / 40
    shares = torch.softmax(scores, dim=0)
    torch.testing.assert_close(mixed[0, 0].double(), shares @ v + wanted_mix, atol=1e-5, rtol=1e-5)
    assert seen is not None
    wanted = torch.zeros(45, dtype=torch.float64)
    for group, share in zip(groups, shares, strict=True):
        wanted[[3 + entry for entry in group]] = share / len(group)
    torch.testing.assert_close(seen[0, 0].double(), wanted, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("c3r", {"granularity": 1, "leaf": 1}),
        ("quest", {"page": 1, "least_pages": 1, "remainder": True}),
        ("unique", {"page": 1, "least_pages": 1, "remainder": True}),
        ("clusterkv", {"cluster": 1, "remainder": True}),
    ],
)
def test_remainder_when_groups_are_single_entries_then_full_attention(
    name: str, options: dict[str, object]
) -> None:
    keys, values, query = drawn(2, 2, 20, 8), drawn(2, 2, 20, 8, seed=5), drawn(2, 4, 8, seed=1)
    speech = IndexedSpeech(name, keys, values, budget=3, **options)
    mixed, _, _ = speech.attend(query)
    torch.testing.assert_close(mixed.double(), dense(query, keys, values), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["c3", "c3r", "quest", "unique", "clusterkv"])
def test_refresh_when_above_one_then_a_choice_holds_for_so_many_steps(name: str) -> None:
    clusters = {"cluster": 10} if name == "clusterkv" else {}
    speech = IndexedSpeech(name, drawn(1, 2, 60, 8), budget=16, refresh=3, **clusters)
    chosen = [speech.kept(drawn(1, 2, 8, seed=step), step) for step in range(1, 8)]
    assert chosen[0] == chosen[1] == chosen[2]
    assert chosen[3] == chosen[4] == chosen[5]
    assert chosen[0] != chosen[3] != chosen[6]


def test_dense_layers_when_asked_for_then_they_read_everything() -> None:
    speech = IndexedSpeech("quest", drawn(1, 2, 64, 8), layers=2, budget=16, dense_layers=1)
    query = drawn(1, 2, 8, seed=1)
    assert speech.kept(query, layer=0) == [[set(range(64))] * 2]
    assert [len(head) for head in speech.kept(query, layer=1)[0]] == [48, 48]


@pytest.mark.parametrize("remainder", [False, True])
@pytest.mark.parametrize("name", ["c3", "quest", "clusterkv"])
def test_probabilities_when_traced_by_machine_code_then_as_put_in_time_by_torch(
    name: str, remainder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = {"cluster": 10} if name == "clusterkv" else {}
    speech = IndexedSpeech(
        name, drawn(2, 2, 60, 8), budget=16, remainder=remainder, refresh=9, **clusters
    )
    query = drawn(2, 4, 8, seed=1)
    _, traced, _ = speech.attend(query, probe_heads=[3, 0, 1])
    monkeypatch.setattr(retrieval_step, "decode_attention_path", lambda *_: "torch")
    _, by_torch, _ = speech.attend(query, step=2, probe_heads=[3, 0, 1])
    assert traced is not None
    assert by_torch is not None
    torch.testing.assert_close(traced, by_torch, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(traced.sum(dim=2), torch.ones(2, 3), rtol=0, atol=1e-5)
