"""Time Vowpal Wabbit; run by its own Python as `vowpal.py DATA REPEATS`, prints the seconds of each pass."""

import sys
import time

import vowpalwabbit

# A linear model that is corrected by a constant step, as near to the perceptron as its options come.
OPTIONS = "--loss_function hinge --sgd --power_t 0 --learning_rate 1 --binary --quiet"


def main(data: str, repeats: int) -> None:
    """Make the cache, then read it again and again, less the time that it takes to make a workspace."""
    for turn in range(repeats + 1):
        seconds = made(f"--data {data} --cache_file {data}.cache") - made("")
        if turn:
            print(seconds)


def made(options: str) -> float:
    """Make a workspace, which runs over its data at once, and give the seconds."""
    start = time.perf_counter()
    model = vowpalwabbit.Workspace(f"{OPTIONS} {options}", enable_logging=False)
    seconds = time.perf_counter() - start
    model.finish()
    return seconds


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
