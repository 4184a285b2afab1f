import numpy as np
import torch

from gaelp.agents.action_values import ActionValues, bellman_targets, epsilon_greedy, numbers_of
from gaelp.agents.networks import NetworkSpec


def network(**changes):
    settings = {"actions": 3, "numbers": 4, "spec": NetworkSpec(hidden=(8, 6)), "dueling": False}
    generator = torch.Generator().manual_seed(changes.pop("seed", 0))
    return ActionValues(5, generator=generator, **(settings | changes))


def test_every_action_gets_its_numbers():
    assert network()(torch.randn(7, 5)).shape == (7, 3, 4)
    assert network(dueling=True, numbers=1)(torch.randn(7, 5)).shape == (7, 3, 1)


def test_the_same_seed_gives_the_same_weights_and_global_randomness_none():
    torch.manual_seed(1)
    first = network(dueling=True)
    torch.manual_seed(2)
    again = network(dueling=True)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    other = network(dueling=True, seed=1)
    assert not torch.equal(next(iter(first.parameters())), next(iter(other.parameters())))


def test_a_dueling_network_adds_the_states_value_to_centred_advantages():
    torch.manual_seed(0)
    net, obs = network(dueling=True).double(), torch.randn(7, 5, dtype=torch.float64)
    features = torch.relu(obs @ net.trunk[0].weight.T + net.trunk[0].bias)
    value = net.value(features)
    advantage = net.advantage(features).reshape(7, 3, 4)
    by_hand = value[:, None] + advantage - advantage.sum(1, keepdim=True) / 3
    torch.testing.assert_close(net(obs), by_hand, rtol=0, atol=1e-12)


def test_dueling_streams_part_before_the_last_hidden_layer():
    plain, dueling = network(), network(dueling=True)
    assert sum(p.numel() for p in plain.parameters()) == (5 + 1) * 8 + (8 + 1) * 6 + (6 + 1) * 12
    assert sum(p.numel() for p in dueling.parameters()) == (5 + 1) * 8 + 2 * (8 + 1) * 6 + (6 + 1) * 12 + (6 + 1) * 4


def test_a_dueling_network_needs_no_hidden_layer_of_its_own():
    for hidden in ((), (6,)):
        net = network(dueling=True, spec=NetworkSpec(hidden=hidden))
        assert net(torch.randn(2, 5)).shape == (2, 3, 4)


def test_numbers_are_those_of_each_rows_own_action():
    outputs = torch.arange(24.0).reshape(2, 3, 4)
    assert numbers_of(torch.tensor([2, 0]), outputs).tolist() == [[8, 9, 10, 11], [12, 13, 14, 15]]


def by_hand(rewards, discounts, next_outputs, choosing):
    rows = []
    for reward, discount, numbers, judged in zip(rewards, discounts, next_outputs, choosing, strict=True):
        best = max(range(len(judged)), key=lambda action: sum(judged[action]))
        rows.append([reward + discount * number for number in numbers[best]])
    return rows


def test_targets_equal_a_float64_hand_computation():
    rng = np.random.default_rng(0)
    rewards, discounts = rng.normal(size=64), rng.choice([0.0, 0.99, 0.97], size=64)
    own, online = rng.normal(size=(2, 64, 3, 5))
    for choosing in (own, online):
        inputs = [torch.tensor(array, dtype=torch.float32) for array in (rewards, discounts, own, choosing)]
        targets = bellman_targets(*inputs).numpy()
        np.testing.assert_allclose(targets, by_hand(rewards, discounts, own, choosing), rtol=0, atol=1e-6)


def test_double_targets_take_the_online_choice_and_the_target_networks_number():
    target, online = torch.tensor([[[1.0], [5.0]]]), torch.tensor([[[9.0], [2.0]]])
    reward, discount = torch.tensor([0.5]), torch.tensor([0.5])
    assert bellman_targets(reward, discount, target, online).tolist() == [[1.0]]
    assert bellman_targets(reward, discount, target, target).tolist() == [[3.0]]


def test_the_best_action_is_the_one_with_the_highest_mean_not_the_highest_quantile():
    outputs = torch.tensor([[[0.0, 10.0], [6.0, 7.0]]])
    assert bellman_targets(torch.zeros(1), torch.ones(1), outputs, outputs).tolist() == [[6.0, 7.0]]


def test_nothing_follows_a_terminated_episode():
    outputs = torch.randn(2, 3, 4)
    targets = bellman_targets(torch.tensor([1.0, 2.0]), torch.zeros(2), outputs, outputs)
    assert targets.tolist() == [[1.0] * 4, [2.0] * 4]


def test_epsilon_is_the_share_of_uniform_draws():
    best, generator = torch.full((60_000,), 2), torch.Generator().manual_seed(0)
    assert torch.equal(epsilon_greedy(best, actions=4, epsilon=0.0, generator=generator), best)
    drawn = epsilon_greedy(best, actions=4, epsilon=0.4, generator=generator)
    shares = torch.bincount(drawn, minlength=4) / len(best)
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.1, 0.7, 0.1]), rtol=0, atol=0.01)
    assert drawn.dtype == torch.int64
    alone = epsilon_greedy(best, actions=4, epsilon=1.0, generator=generator)
    torch.testing.assert_close(torch.bincount(alone) / len(best), torch.full((4,), 0.25), rtol=0, atol=0.01)
