"""Properties of the loss functions."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from citewell.train import losses  # noqa: E402


def test_softmax_is_low_if_the_positive_is_far_ahead() -> None:
    positives, nothing = torch.arange(3), torch.zeros(3, 3, dtype=torch.bool)
    assert losses.in_batch_softmax(torch.eye(3), positives, nothing, 0.01).item() < 1e-6
    assert losses.in_batch_softmax(1 - torch.eye(3), positives, nothing, 0.01).item() > 50
    assert losses.in_batch_softmax(torch.zeros(3, 3), positives, nothing, 0.05).item() == pytest.approx(math.log(3))


def test_masked_papers_do_not_count() -> None:
    torch.manual_seed(0)
    scores, positives = torch.randn(4, 6, requires_grad=True), torch.arange(4)
    masked = torch.zeros(4, 6, dtype=torch.bool)
    masked[:, 5] = masked[0, 2] = True
    loss = losses.in_batch_softmax(scores, positives, masked, 0.5)
    loss.backward()
    assert (scores.grad[masked] == 0).all() and (scores.grad[~masked] != 0).all()
    with torch.no_grad():
        changed = torch.where(masked, 1000.0, scores)
        assert losses.in_batch_softmax(changed, positives, masked, 0.5).item() == loss.item()


def test_a_triplet_costs_nothing_beyond_its_margin() -> None:
    near, far = torch.tensor([0.1, 0.1]), torch.tensor([0.5, 0.9])
    assert losses.triplet(near, far, 0.2).item() == 0
    assert losses.triplet(far, near, 0.2).item() == pytest.approx(0.8)


def test_binary_loss() -> None:
    labels = torch.tensor([1.0, 0.0])
    assert losses.binary(torch.tensor([20.0, -20.0]), labels).item() < 1e-6
    assert losses.binary(torch.zeros(2), labels).item() == pytest.approx(math.log(2))


def test_listwise_loss_is_lowest_if_relevant_papers_share_all() -> None:
    relevant = torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    best = losses.listwise(torch.tensor([[50.0, 50.0, 0.0, 0.0]]), relevant).item()
    assert best == pytest.approx(math.log(2))
    assert losses.listwise(torch.tensor([[50.0, 0.0, 0.0, 50.0]]), relevant).item() > best
    one = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    scores = torch.randn(1, 4)
    softmax = losses.in_batch_softmax(scores, torch.tensor([0]), torch.zeros(1, 4, dtype=torch.bool), 1.0)
    assert losses.listwise(scores, one).item() == pytest.approx(softmax.item(), rel=1e-5)


def test_distillation_is_lowest_for_the_teacher_and_ignores_a_constant() -> None:
    torch.manual_seed(0)
    teacher = torch.randn(3, 5)
    assert losses.distillation(teacher, teacher, 0.1).item() == pytest.approx(0, abs=1e-6)
    assert losses.distillation(teacher + 7, teacher, 0.1).item() == pytest.approx(0, abs=1e-4)
    assert losses.distillation(-teacher, teacher, 0.1).item() > 0.1
