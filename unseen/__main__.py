"""``python -m unseen``: the command line, where no script of its name is found."""

from unseen.cli import main

if __name__ == "__main__":
    main()
