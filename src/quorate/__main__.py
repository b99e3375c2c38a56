"""`python -m quorate` is `quorate`."""

from quorate.cli import main

if __name__ == "__main__":
    main()
