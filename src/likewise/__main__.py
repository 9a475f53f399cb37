"""``python -m likewise``: the command line."""

from likewise.cli import main

if __name__ == "__main__":
    main()
