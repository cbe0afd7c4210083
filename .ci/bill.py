"""Completes a bill of materials that cyclonedx-gomod wrote, from standard input to standard output:

    bill.py DATE LIBRARY...

It adds the libraries in pages of the viewer (htmx 2.0.11 for htmx-2.0.11.min.js) and the program's licence. Its
time is DATE, its serial number is a hash of the rest, and it leaves out the hashes of cyclonedx-gomod, so that the
same binary gives the same bytes."""

import json
import os
import sys
import uuid

bill = json.load(sys.stdin)
libraries = []
for path in sys.argv[2:]:
    name, version = os.path.basename(path).split(".min.")[0].split("-", 1)
    ref = f"pkg:generic/{name}@{version}"
    libraries.append({"bom-ref": ref, "type": "library", "name": name, "version": version, "purl": ref})
program = bill["metadata"]["component"]
program["licenses"] = [{"license": {"id": "Apache-2.0"}}]
bill["metadata"]["timestamp"] = sys.argv[1] + "T00:00:00Z"
for tool in bill["metadata"]["tools"]:
    del tool["hashes"]
bill["components"] += libraries
needs = next(d for d in bill["dependencies"] if d["ref"] == program["bom-ref"])
needs["dependsOn"] += [library["bom-ref"] for library in libraries]
bill["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill)).urn
json.dump(bill, sys.stdout, indent=2)
print()
