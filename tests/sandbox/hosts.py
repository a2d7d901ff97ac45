#!/usr/bin/env python3
"""hosts.py DDPTWIN: what `ddptwin doctor` and a run say on hosts of several kinds, made with unshare.

Each host is a shell script in a mount and user namespace of its own, which changes what ddptwin will
see of "the host", and what is to be told then. Nothing of it outlives the namespace."""
import os
import subprocess
import sys

TWIN = os.path.abspath(sys.argv[1])
# Too many file systems on one another for one more: what is seen there is seen as it is.
STACKED = """mkdir /srv/a /srv/b /srv/one /srv/odd && echo here > /srv/a/file &&
mount -t overlay -o lowerdir=/srv/a:/srv/b none /srv/one && mount -t overlay -o lowerdir=/srv/one:/srv/b none /srv/odd"""
POD = """cat > /srv/pod.yaml <<'END'
apiVersion: v1
kind: Pod
metadata: {name: reads}
spec:
  restartPolicy: Never
  containers:
  - name: reads
    image: busybox
    command: [sh, -c, 'cat /srv/odd/file && ! touch /srv/odd/other && touch /srv/other']
END
"""
# A row: a name, what makes the host, what is run, its exit status, and what is told.
HOSTS = [
    ("as_it_is", "", "doctor", 0, ["yes   pods       one was run"]),
    ("a_chroots_proc", "mkdir -p /srv/chroot/proc && mount -t proc proc /srv/chroot/proc", "doctor", 0,
     ["note  folders    pods see nothing of /srv/chroot/proc (proc)", "yes   pods "]),
    ("what_takes_no_overlay", STACKED, "doctor", 0,
     ["note  folders    /srv/odd (overlay) takes no overlay: pods cannot write there", "yes   pods "]),
    ("a_run_there", STACKED + "\n" + POD, "run /srv/pod.yaml", 0,
     ["host /srv/odd (overlay) takes no overlay", "PASSED"]),
    ("masked_proc", "mount -t tmpfs none /proc/sys/kernel", "doctor", 3,
     ["no    sandboxes", "parts of /proc are masked here", "systempaths=unconfined",
      "--mode virtual needs none of this"]),
    ("no_user_namespaces", "echo 0 > /proc/sys/user/max_user_namespaces", "doctor", 3,
     ["user namespaces are switched off: sysctl -w user.max_user_namespaces=10000"]),
]

failed = 0
for name, made_by, command, status, told in HOSTS:
    # /srv is a tmpfs of the namespace's own.
    script = f"set -e\nmount -t tmpfs none /srv\n{made_by}\nexec {TWIN} {command}"
    ran = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc",
                          "sh", "-c", script], capture_output=True, text=True)
    missing = [line for line in told if line not in ran.stdout]
    if ran.returncode == status and not missing:
        print(f"ok {name}")
        continue
    failed += 1
    print(f"FAILED {name}: status {ran.returncode}, missing {missing}\n{ran.stdout}{ran.stderr}")
sys.exit(1 if failed else 0)
