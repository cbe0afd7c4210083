"""Training and sampling at a service that speaks the Tinker API.

    python -m rollmill.tinker serve --base-model NAME    an engine that answers chat completions
    python -m rollmill.tinker train                      the worker of rollmill submit --backend tinker

Both need the package tinker. The service is TINKER_BASE_URL, or that of Thinking
Machines; the key is TINKER_API_KEY.
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from typing import Any

from .._need import need


def connect(url: str = "") -> Any:
    """A tinker.ServiceClient of the service at url. ConnectionError: none answers there. The
    SDK alone would go on asking for minutes."""
    os.environ.setdefault("TINKER_TELEMETRY", "0")
    if base := url or os.environ.get("TINKER_BASE_URL", ""):
        try:
            urllib.request.urlopen(base.rstrip("/") + "/api/v1/healthz", timeout=10).close()
        except urllib.error.HTTPError:
            pass  # it answers
        except (OSError, ValueError) as error:
            raise ConnectionError(f"no Tinker service answers at {base}: {getattr(error, 'reason', error)}") from None
    tinker = need("tinker", "talking to a Tinker service")
    return tinker.ServiceClient(**({"base_url": url} if url else {}))


def model_config(base: str) -> Any:
    """The config of a model as transformers finds it, offline or at the hub; None if it finds none."""
    try:
        return need("transformers", "the model's sizes").AutoConfig.from_pretrained(base, trust_remote_code=False).get_text_config()
    except (OSError, ValueError, ImportError) as error:
        print(f"no config of {base}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
