"""Creates a container in an Azure emulator: container.py URL NAME."""

import base64
import datetime
import hashlib
import hmac
import os
import sys
import urllib.request

url, name = sys.argv[1:]
account, key = os.environ["AZURE_STORAGE_ACCOUNT"], base64.b64decode(os.environ["AZURE_STORAGE_KEY"])
version, date = "2021-08-06", datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
signed = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n/{account}/{account}/{name}\nrestype:container"
signature = base64.b64encode(hmac.new(key, signed.encode(), hashlib.sha256).digest()).decode()
headers = {"x-ms-date": date, "x-ms-version": version, "Content-Length": "0", "Authorization": f"SharedKey {account}:{signature}"}
urllib.request.urlopen(urllib.request.Request(f"{url}/{account}/{name}?restype=container", method="PUT", headers=headers))
