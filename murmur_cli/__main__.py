"""`python -m murmur_cli` is the same as `murmur`."""

from murmur_cli.commands.app import main

if __name__ == "__main__":
    main()
