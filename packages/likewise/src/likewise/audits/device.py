"""The counts of a block of pairs on an NVIDIA GPU: those of the compiled kernel.

Every operation is the one that numpy does, in the same order and on 64-bit floats, so that every
distance has the same bits. PyTorch comes from the GPU engine; without a GPU its import fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.audits.pairs import NEVER, Block, Tally
from likewise.audits.plans import CATEGORY, MAX, MIN, Plan
from likewise.learner import gpu
from likewise.numerics.fixed_point import ONE

torch: Any = gpu.torch  # type: ignore[attr-defined] # imported there alone


class Device:
    """The counts of a question on the GPU, where all columns are kept."""

    side = 4096

    def __init__(self, plan: Plan) -> None:
        self.plan, case = plan, plan.case
        self.columns, self.scores, self.counts, self.alphas, self.fires, self.groups = map(_there, (
            plan.measures.columns, case.scores, case.counts, case.alphas,
            case.fires.astype(np.int64), case.groups,
        ))  # fmt: skip

    def add(self, tally: Tally, block: Block) -> None:
        """Count the pairs of a block of people, none of them ``paired``."""
        left, right = _there(block.left)[:, None], _there(block.right)[None, :]
        absent = left >= right if block.ordered else left == right
        gap = (self.scores[left] - self.scores[right]).abs()
        gap[absent] = -1
        keys, case = self._keys(left[:, 0], right[0]), self.plan.case
        votes = torch.zeros(gap.shape, dtype=torch.int64, device=gpu.device())
        for place, key in enumerate(keys):
            votes |= (gap - (key >> case.bits) > case.sensitivity).to(torch.int64) << place
        pivot = self._pivot(keys)
        excess = gap - (pivot >> case.bits)
        excess[absent] = NEVER
        weights = self.counts[left] * self.counts[right]
        weights[absent] = 0
        self._count(tally, block, votes, pivot, excess, weights)
        self._raise(tally, block, votes, excess)
        higher = self.scores[left] > self.scores[right]
        self._count_sides(tally, block, excess > case.sensitivity, higher)
        self._keep(tally, left, right, excess)

    def _keys(self, left: Any, right: Any) -> list[Any]:
        """Distances with the members' places in their low bits."""
        m, keys = self.plan.measures, []
        differ = [self._difference(place, left, right) for place in range(len(m.scales))]
        for a in range(len(m.tables)):
            total = torch.zeros((len(left), len(right)), dtype=torch.float64, device=gpu.device())
            for t in range(int(m.ends[a]), int(m.ends[a + 1])):
                total += torch.mul(differ[int(m.terms[t])], float(m.weights[t]))
            units = torch.round(total.clamp_(max=1.0) * float(ONE)).to(torch.int32)
            keys.append((units << self.plan.case.bits) | a)
        return keys

    def _difference(self, place: int, left: Any, right: Any) -> Any:
        """min(1, |x_l − x_r|/scale) in a column; missing values are infinite."""
        m, column = self.plan.measures, self.columns[place]
        a, b = column[left][:, None], column[right][None, :]
        if m.kinds[place] == CATEGORY:
            return (a != b).to(torch.float64)
        apart = ((a - b).abs() / float(m.scales[place])).clamp_(max=1.0)
        return torch.where(a == b, torch.zeros_like(apart), apart)  # both may be missing

    def _pivot(self, keys: list[Any]) -> Any:
        registers, bits = list(keys), self.plan.case.bits
        for operation, a, b in self.plan.case.program.tolist():
            if operation == MIN:
                registers.append(torch.minimum(registers[a], registers[b]))
            elif operation == MAX:
                registers.append(torch.maximum(registers[a], registers[b]))
            else:
                registers.append(torch.full_like(keys[0], (ONE + 1) << bits))
        return registers[-1]

    def _count(
        self, tally: Tally, block: Block, votes: Any, pivot: Any, excess: Any, weights: Any
    ) -> None:
        case, members = self.plan.case, len(self.plan.profiles)
        passed = torch.searchsorted(self.alphas, excess.to(torch.int64))
        reported = weights * (excess > case.sensitivity)
        place = (pivot & ((1 << case.bits) - 1)).clamp_(max=members - 1)
        self.plan.sum_up(
            tally, block, _sums(votes, weights, 1 << members),
            _sums(passed, weights, len(case.alphas) + 1), _sums(place, reported, members),
        )  # fmt: skip

    def _raise(self, tally: Tally, block: Block, votes: Any, excess: Any) -> None:
        """Raise everybody's largest excess, and note which of the other rules fired."""
        fired, nobody = self.fires[votes], len(self.scores)
        for axis, side, others in ((1, block.left, block.right), (0, block.right, block.left)):
            most = excess.amax(dim=axis, keepdim=True)
            places = _there(others)[None, :] if axis else _there(others)[:, None]
            alike = torch.where((excess == most) & (excess > NEVER), places, nobody)
            first = alike.amin(dim=axis).cpu().numpy()
            tally.meet(side, most.squeeze(axis).cpu().numpy(), first)
            for rule, touched in enumerate(tally.touched_by_rule):
                touched[side] |= ((fired >> rule) & 1).any(dim=axis).cpu().numpy()

    def _count_sides(self, tally: Tally, block: Block, reported: Any, higher: Any) -> None:
        """Count reported pairs by person and group: who has the higher score, who the lower."""
        ours, others = (self.counts[_there(side)] for side in (block.left, block.right))
        left_over, right_over = reported & higher, reported & ~higher
        for counts, left, right in (
            (tally.over, left_over, right_over),
            (tally.under, right_over, left_over),
        ):
            counts[block.left] += (left * others[None, :]).sum(dim=1).cpu().numpy()
            if block.ordered:
                counts[block.right] += (right * ours[:, None]).sum(dim=0).cpu().numpy()
        for counts, group in zip(tally.between_groups, self.groups, strict=True):
            a, b = (group[_there(side)] for side in (block.left, block.right))
            for pairs, place in (
                (left_over, a[:, None] * len(counts) + b[None, :]),
                (right_over, b[None, :] * len(counts) + a[:, None]),
            ):
                weights = pairs * ours[:, None] * others[None, :]
                counts[...] += _sums(place, weights, counts.size).reshape(counts.shape)

    def _keep(self, tally: Tally, left: Any, right: Any, excess: Any) -> None:
        """Bring the first pairs from the GPU, as many as it takes to keep what matters."""
        enough, least = 2 * tally.question.candidates, max(tally.last_kept[0], NEVER + 1)
        size, total = 2 * enough, int((excess >= least).sum())
        if not enough or not total:
            return
        rows = self._first(left, right, excess, least, size)
        # What comes after the first pairs changes nothing before it.
        while size < total and len(tally.order(*rows)) < enough:
            size *= 4
            rows = self._first(left, right, excess, least, size)
        tally.keep(*rows)

    def _first(self, left: Any, right: Any, excess: Any, least: int, size: int) -> list[Any]:
        """The first pairs in the order of the worst; each may be there twice."""
        if excess.numel() > size:
            least = max(least, int(excess.flatten().topk(size).values[-1]))
        places = (excess >= least).nonzero()
        i, j = left[places[:, 0], 0], right[0, places[:, 1]]
        worth = excess[places[:, 0], places[:, 1]]
        first, second = torch.minimum(i, j), torch.maximum(i, j)
        # Of pairs that tie with the last, the first ones suffice.
        order = first * len(self.scores) + second - (worth > least).to(torch.int64) * (1 << 62)
        chosen = order.topk(min(size, len(order)), largest=False).indices
        return [a[chosen].cpu().numpy() for a in (worth, first, second)]


def _there(array: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array)).to(gpu.device())


def _sums(places: Any, weights: Any, size: int) -> Any:
    sums = torch.zeros(size, dtype=torch.int64, device=gpu.device())
    return sums.index_add_(0, places.flatten().to(torch.int64), weights.flatten()).cpu().numpy()
