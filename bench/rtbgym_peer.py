"""Steps per CPU-second of RTBGym's continuous environment, printed as JSON; run by the peers' own interpreter."""

import json
import sys
import time
import warnings

warnings.filterwarnings("ignore")

import gym  # noqa: E402
import rtbgym  # noqa: E402, F401


def main(seconds: float) -> None:
    """Step one environment with one action until the time is over."""
    env = gym.make("RTBEnv-continuous-v0")
    env.reset(seed=0)
    action = env.action_space.sample()
    steps = 0
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        _, _, terminated, truncated, _ = env.step(action)
        steps += 1
        if terminated or truncated:
            env.reset()
    elapsed = time.process_time() - begin
    sys.stdout.write(json.dumps({"peer": "RTBGym", "steps": steps, "steps_per_s": steps / elapsed}) + "\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
