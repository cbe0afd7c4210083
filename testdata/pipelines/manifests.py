"""Checks the manifests under pipelines/ against the schemas of Kubernetes and Argo.

Run from the repository's root. Each check must also refuse a wrong manifest;
otherwise it would prove nothing.
"""

import copy
import os
import subprocess

import kubernetes_validate
import yaml
from hera.workflows import models
from pydantic import BaseModel


def jobs():
    env = {**os.environ, "RUN": "demo", "ROOT": "s3://bucket/demo?endpoint=http://store:9000&use_path_style=true",
           "VALIDATE_EVERY": "5", "IMAGE": "example.invalid/rollmill:1", "SHARDS": "4"}
    text = subprocess.run(["pipelines/kubernetes/epoch.sh", "--print", "0"], env=env, check=True, capture_output=True, text=True).stdout
    return [d for d in yaml.safe_load_all(text) if d]


def strict(model, value, path="workflow"):
    """Refuses keys that the pydantic model does not have, as Argo's server does."""
    if isinstance(value, list):
        for i, v in enumerate(value):
            strict(model[i], v, f"{path}[{i}]")
    elif isinstance(value, dict) and isinstance(model, BaseModel):
        names = {f.alias or n: n for n, f in type(model).model_fields.items()}
        for key, v in value.items():
            assert key in names, f"{path}: unknown field {key}"
            strict(getattr(model, names[key]), v, f"{path}.{key}")


def workflow(document):
    parsed = models.Workflow.model_validate(document)
    strict(parsed, document)
    templates = {t["name"]: t for t in document["spec"]["templates"]}
    for t in templates.values():
        tasks = {task["name"] for task in t.get("dag", {}).get("tasks", [])}
        for task in t.get("dag", {}).get("tasks", []):
            assert task["template"] in templates, f"{task['name']}: no template {task['template']}"
            given = {p["name"] for p in task.get("arguments", {}).get("parameters", [])}
            wanted = {p["name"] for p in templates[task["template"]].get("inputs", {}).get("parameters", [])}
            assert given == wanted, f"{task['name']}: gives {given}, wanted {wanted}"
            for word in task.get("depends", "").replace("||", " ").split():
                assert word.split(".")[0] in tasks, f"{task['name']}: depends on {word}"


def refused(check, document, *path, value):
    bad = copy.deepcopy(document)
    at = bad
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    try:
        check(bad)
    except Exception:
        return
    raise AssertionError(f"{path} = {value!r} was not refused")


def job(document):
    kubernetes_validate.validate(document, "1.33", strict=True)


documents = jobs()
assert [d["metadata"]["labels"]["rollmill/stage"] for d in documents] == ["prepare", "validation", "rollout", "score", "group", "curate", "submit", "report"]
assert all(e["value"].endswith("use_path_style=true") for d in documents for e in d["spec"]["template"]["spec"]["containers"][0]["env"] if e["name"] == "ROOT")
for document in documents:
    job(document)
refused(job, documents[0], "spec", "completionModes", value="Indexed")
refused(job, documents[0], "spec", "podFailurePolicy", "rules", 1, "action", value=7)

with open("pipelines/argo/epoch.yaml") as f:
    document = yaml.safe_load(f)
workflow(document)
refused(workflow, document, "spec", "entrypoints", value="epoch")
refused(workflow, document, "spec", "templates", 0, "dag", "tasks", 1, "template", value="nothing")
print(f"{len(documents)} jobs and 1 workflow hold")
