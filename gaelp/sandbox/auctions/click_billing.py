"""What a click sets off: its price is billed within the limits, it may be invalid, and it may become a sale."""

import math

import numpy as np

from gaelp.market.compiled import compiled_part, inlined
from gaelp.market.random import advance, scramble, uniform_of
from gaelp.sandbox.auctions.exchange_arrays import ProductOutput, ProductState
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules
from gaelp.sandbox.auctions.pacing import money_left
from gaelp.sandbox.auctions.product import ProductTraits
from gaelp.sandbox.exchange_events import NEVER, ExchangeRecord

__all__ = ["CLICKS", "COST", "bill_click", "deliver_late_clicks", "exponential_ticks", "next_word"]

CLICKS, COST = 2, 3  # of MEASURES
_SHIFT, _LOW_BITS = np.uint64(1), np.uint64(1023)
_DAYPART_HOURS = 4
_CENT = 10_000  # micros


@inlined
def next_word(word: np.uint64) -> np.uint64:
    """The random word after this one."""
    return scramble(advance(word))


@inlined
def exponential_ticks(word: np.uint64, mean: float) -> float:
    """An exponential waiting time."""
    return -math.log(1.0 - uniform_of(word)) * mean


@compiled_part
def bill_click(
    traits: ProductTraits,
    rules: ExchangeRules,
    state: ProductState,
    out: ProductOutput,
    place: tuple[int, int, int, int, int],
    click: ExchangeRecord,
) -> None:
    """Bill a click; `place` is tick, index of the hour in the output, hour of the day, campaign and group by index.

    A click that nothing may be billed for any more is not counted.
    """
    tick, h, hour, c, g = place
    row = state.campaigns[c]
    cost = min(click.price, money_left(row))
    if cost <= 0:
        return
    row.spent_day += cost
    row.spent_period += cost
    row.spent_total += cost
    row.spent_hour += cost
    row.expected_value += (1.0 - rules.invalid_share) * click.chance * traits.sale_micros[click.topic]
    state.hour_clicks[c, g, click.device] += 1
    out.hours[h, c, g, click.device, CLICKS] += 1
    out.hours[h, c, g, click.device, COST] += cost
    made = out.clicks[out.counts[0]]
    out.counts[0] += 1
    made.tick = tick
    made.id = np.int64(click.word >> _SHIFT)
    made.campaign = click.campaign
    made.group = click.group
    made.device = click.device
    made.cost_micros = cost
    word = next_word(click.word)
    if uniform_of(word) < rules.invalid_share:
        _credit_later(rules, out, made, next_word(word))
        return
    word = next_word(word)
    if uniform_of(word) < click.chance:
        _convert_later(traits, rules, state, out, (made, click.topic, hour // _DAYPART_HOURS), word)


@compiled_part
def _credit_later(rules: ExchangeRules, out: ProductOutput, made: ExchangeRecord, word: np.uint64) -> None:
    credit = out.credits[out.counts[2]]
    out.counts[2] += 1
    credit.click_tick = made.tick
    credit.click = made.id
    credit.campaign = made.campaign
    credit.group = made.group
    credit.device = made.device
    credit.tick = made.tick + 1 + int(rules.credit_low + uniform_of(word) * (rules.credit_high - rules.credit_low))
    credit.cost_micros = made.cost_micros


@compiled_part
def _convert_later(
    traits: ProductTraits,
    rules: ExchangeRules,
    state: ProductState,
    out: ProductOutput,
    click: tuple[ExchangeRecord, int, int],
    word: np.uint64,
) -> None:
    """Draw when the sale happens, is reported and returned, and its value; one after the window never happens."""
    made, topic, daypart = click
    word = next_word(word)
    mean = rules.fast_mean if uniform_of(word) < rules.fast_share else rules.slow_mean
    word = next_word(word)
    delay = exponential_ticks(word, mean)
    if delay >= rules.window:
        return
    sale = out.conversions[out.counts[1]]
    out.counts[1] += 1
    sale.click_tick = made.tick
    sale.id = np.int64(word >> _SHIFT)
    sale.click = made.id
    sale.campaign = made.campaign
    sale.group = made.group
    sale.device = made.device
    sale.tick = made.tick + 1 + int(delay)
    word = next_word(word)
    value = traits.sale_micros[topic] * traits.sale_noise[word & _LOW_BITS]
    sale.value_micros = max(int(value / _CENT + 0.5), 1) * _CENT
    word = next_word(word)
    sale.reported_tick = sale.tick + 1 + int(exponential_ticks(word, rules.report_mean))
    word = next_word(word)
    sale.refunded_tick = NEVER
    if uniform_of(word) < rules.refund_share:
        sale.refunded_tick = sale.tick + 1 + int(exponential_ticks(next_word(word), rules.refund_mean))
    due = state.due[state.clock[0].due]
    state.clock[0].due += 1
    due.tick = sale.reported_tick
    due.campaign = made.campaign
    due.group = made.group
    due.device = made.device
    due.daypart = daypart
    due.value = sale.value_micros


@compiled_part
def deliver_late_clicks(
    traits: ProductTraits,
    rules: ExchangeRules,
    state: ProductState,
    out: ProductOutput,
    place: tuple[int, int, int],
) -> None:
    """Bill the pending clicks of this tick; `place` is tick, index of the hour in the output, hour of the day."""
    tick, h, hour = place
    kept = 0
    for n in range(state.clock[0].late):
        late = state.late[n]
        if late.tick > tick:
            state.late[kept] = late
            kept += 1
            continue
        for c in range(len(state.campaigns)):
            if state.campaigns[c].id != late.campaign:
                continue
            for g in range(state.campaigns[c].groups):
                if state.groups[c, g].id == late.group:
                    bill_click(traits, rules, state, out, (tick, h, hour, c, g), late)
    state.clock[0].late = kept
