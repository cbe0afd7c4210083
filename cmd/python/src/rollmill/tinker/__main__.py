"""python -m rollmill.tinker serve|train"""

from __future__ import annotations

import argparse


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rollmill.tinker")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="answer chat completions by sampling at a Tinker service")
    serve.add_argument("--base-model", required=True, metavar="NAME", help="the model that is sampled unless a request names a saved one")
    serve.add_argument("--url", default="", help="of the service; default TINKER_BASE_URL, else the SDK's")
    serve.add_argument("--host", default="127.0.0.1", help="listen at this address")
    serve.add_argument("--port", type=int, default=8000, help="listen at this port, 0 for a free one; default 8000")
    serve.add_argument("--tokenizer", metavar="NAME", help="a tokenizer of transformers, or its folder; default: the model's")
    serve.add_argument("--renderer", metavar="NAME", help="write prompts and read answers with this one of the package renderers")
    commands.add_parser("train", help="train on a batch; rollmill submit --backend tinker starts it")
    given = parser.parse_args()
    if given.command == "serve":
        from ._serve import serve as run

        try:
            run(given)
        except ImportError as error:
            parser.exit(2, f"rollmill.tinker: {error}\n")
    else:
        from ._train import main as train

        train()


if __name__ == "__main__":
    main()
