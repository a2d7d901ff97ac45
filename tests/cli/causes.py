#!/usr/bin/env python3
"""Judges what the traces of runs name as causes, by the law of docs/reference/trace.md, "Causes".

causes.py DIR...                                   folders that `ddptwin run --out` has filled
causes.py --run PROGRAM --mode MODE SCENARIO...    runs them first

Says the first record of each trace that breaks the law. Exit status 1: there is one; 3: this machine
cannot run the scenario.
"""

import json
import os
import subprocess
import sys
import tempfile


def name_of(kind, namespace, name):
    """KIND/NAME, with the namespace between them where it is another than `default`: what traces say."""
    return "/".join([kind.lower()] + ([namespace] if namespace not in ("", "default") else []) + [name])


def is_pod(name):
    return name.startswith("pod/")


def namespace_of(pod):
    parts = pod.split("/")
    return parts[1] if len(parts) == 3 else "default"


class Judge:
    def __init__(self):
        self.records = {}
        self.related = {}  # by a pod's name: its owners, its nodes
        self.involved_in = {}  # by an Event's namespace and name: a repeated one does not tell anew
        self.judged = 0

    def learn(self, record):
        about = record.get("about", {})
        if about.get("kind") != "Pod":
            return
        namespace = about.get("namespace", "")
        related = self.related.setdefault(name_of("Pod", namespace, about["name"]), set())
        for owner in record.get("object", {}).get("metadata", {}).get("ownerReferences", []):
            related.add(name_of(owner["kind"], namespace, owner["name"]))
        for change in record.get("changes", []):
            if change["path"].lstrip("./").replace("/", ".") == "spec.nodeName" and change["after"]:
                related.add(name_of("Node", "", change["after"]))

    def without_container(self, subject):
        """A container's name is its pod's and one part more."""
        above = subject.rpartition("/")[0]
        return above if is_pod(subject) and above in self.related else subject

    def names_of(self, record):
        """What the record is about."""
        if "about" in record:
            about = record["about"]
            kind, namespace, name = about["kind"], about.get("namespace", ""), about["name"]
            if kind == "Event":
                involved = record.get("object", {}).get("involvedObject")
                if involved is None:
                    involved = self.involved_in.get((namespace, name), {"kind": "Event", "name": name})
                self.involved_in[namespace, name] = involved
                return {name_of(involved["kind"], involved.get("namespace", ""), involved["name"])}
            if kind in ("EndpointSlice", "Endpoints"):
                kind = "Service"
            return {name_of(kind, namespace, name)}
        kind, subject = record["kind"], record.get("subject", "")
        if kind == "schedule" and record["text"].startswith("preempts "):
            return {subject, name_of("Pod", *record["text"].split(" ")[1].split("/"))}
        if kind == "connection":
            return set(subject.split(" -> "))
        return {self.without_container(subject.split(" ")[-1])}

    def is_related(self, pod, record, cause):
        if cause["kind"] in ("fault", "step"):
            return True
        names = self.names_of(cause)
        if pod in names:
            return True
        if record["kind"] == "schedule" and cause.get("about", {}).get("kind") in ("Pod", "Node"):
            return True
        namespace = namespace_of(pod)
        return any(
            name in self.related.get(pod, ())
            or name == name_of("Namespace", "", namespace)
            or (name.split("/")[0] in ("service", "configmap", "secret") and namespace_of(name) == namespace)
            for name in names)

    def wrong(self, record):
        """In words, or nothing."""
        self.learn(record)
        self.records[record["id"]] = record
        number = record.get("cause", 0)
        if number == 0:
            return None
        self.judged += 1
        cause = self.records.get(number)
        if cause is None:
            return f"record {record['id']}: its cause {number} is no earlier line"
        pods = [name for name in self.names_of(record) if is_pod(name)]
        if record["kind"] in ("fault", "step") or not pods:
            return None
        if any(self.is_related(pod, record, cause) for pod in pods):
            return None
        short = [{k: r[k] for k in ("id", "kind", "actor", "subject", "text", "about") if k in r}
                 for r in (record, cause)]
        return f"record {json.dumps(short[0])}\n  has as its cause {json.dumps(short[1])}"


def judge(folder):
    judge = Judge()
    with open(os.path.join(folder, "trace.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            wrong = judge.wrong(json.loads(line))
            if wrong:
                print(f"{folder}: {wrong}")
                return False
    print(f"{folder}: {judge.judged} causes judged")
    return judge.judged > 0


def main(arguments):
    if arguments[:1] != ["--run"]:
        return 0 if all([judge(folder) for folder in arguments]) else 1
    program, mode, scenarios = arguments[1], arguments[3], arguments[4:]
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([program, "run", *scenarios, "--mode", mode, "--quiet", "--out", folder])
        if ran.returncode not in (0, 1):
            return ran.returncode
        found = [where for where, _, files in os.walk(folder) if "trace.jsonl" in files]
        return 0 if found and all([judge(where) for where in found]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
