"""Plays two episodes with every rule, and auctions of the sandbox, so that both are on disk: a minute on a new clone.

`make test` runs it once, while its workers collect the tests. Without it every worker, and every process that they
start meanwhile, compiles the same functions for itself.
"""

from gaelp.market.baselines.compare import compare
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.sandbox.rehearsal import compile_auctions
from gaelp.sandbox.spec import load_sandbox_spec


def main():
    """Compare all rules on two episodes of the default market, then run the auctions of one product."""
    market = build_market(load_market_spec("cal"), load_persona_table("personas"))
    tuned = load_tuned(market)
    compare(market, tuned.build_all(), constant=tuned.constant(), episodes=2)
    compile_auctions(load_sandbox_spec())


if __name__ == "__main__":
    main()
