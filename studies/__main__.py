"""The studies' command line: ``python -m studies sweep NAME --write``, in the project's folder."""

from studies.commands import main

main(prog_name="python -m studies")
