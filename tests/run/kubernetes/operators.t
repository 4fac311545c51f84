#!/bin/sh
# Documents of other operators, in the shape of their own examples: what muster k8s makes of each for
# the launcher runs, here over two nodes of this machine, and each change is named.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_k8s() {
    [ -x "$top_builddir/k8s/muster-k8s" ] ||
        { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need k8s

# launch FILE OPTION...: translates a document, then runs what its launcher's Pod would run, with hosts
# and OPTIONs of this machine.
launch() {
    document=$1
    shift
    run muster k8s submit -f "$document" --dry-run -o json
    is "$document is accepted" "$rc" 0
    cp err "$document.err"
    python3 - "$@" >"$document.sh" <<'END'
import json, shlex, sys
launcher = [p for p in json.load(open("out"))["items"] if p["metadata"]["name"].endswith("-launcher")][0]
words = launcher["spec"]["containers"][0]["command"]
words = [w.replace("$$", "$") for w in words[words.index("muster") + 1:]]
print("exec muster", shlex.join(sys.argv[1:] + [w for w in words if not w.startswith(("--hostfile=", "--ssh-config="))]))
END
    run sh "$document.sh"
}
# named DOCUMENT WARNING...: those, and no others
named() {
    document=$1
    shift
    is "... each change of $document is named" \
        "$(sed -n 's/^muster k8s: warning: spec\.//p' "$document.err")" "$(printf '%s\n' "$@")"
}

cat >v1alpha2.yaml <<'END'
apiVersion: kubeflow.org/v1alpha2
kind: MPIJob
metadata:
  name: benchmarks
spec:
  slotsPerWorker: 1
  cleanPodPolicy: Running
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
         spec:
           containers:
           - image: example.org/train:1
             name: train
             command:
             - mpirun
             - --allow-run-as-root
             - -np
             - "2"
             - -bind-to
             - none
             - -map-by
             - slot
             - -x
             - NCCL_DEBUG=INFO
             - -x
             - LD_LIBRARY_PATH
             - -mca
             - btl
             - ^openib
             - sh
             - -c
             - echo "$RANK of $WORLD_SIZE, $NCCL_DEBUG, $OMPI_MCA_btl, $*"
             - sh
             - --model=resnet101
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - image: example.org/train:1
            name: train
            resources:
              limits:
                nvidia.com/gpu: 1
END
at=mpiReplicaSpecs.Launcher
launch v1alpha2.yaml --transport=exec -H node1:1,node2:1 --label=none
is "... and its line runs" "$rc" 0
is "... as mpirun's would" "$(sort out)" "0 of 2, INFO, ^openib, --model=resnet101
1 of 2, INFO, ^openib, --model=resnet101"
named v1alpha2.yaml "$at: --allow-run-as-root is left out: ranks run as the workers' user" \
    "$at: -x LD_LIBRARY_PATH is left out: the ranks have the environment of the workers" \
    "$at: -mca btl ^openib is read as --env=OMPI_MCA_btl=^openib"

# The training operator's.
sed -e 's/v1alpha2/v1/; s/cleanPodPolicy: Running/runPolicy: {cleanPodPolicy: Running, backoffLimit: 1}/' v1alpha2.yaml >v1.yaml
launch v1.yaml --transport=exec -H node1:1,node2:1 --label=none
is "... and its line runs" "$rc" 0
is "... as well" "$(sort out | tail -n 1)" "1 of 2, INFO, ^openib, --model=resnet101"

cat >et.yaml <<'END'
apiVersion: kai.alibabacloud.com/v1alpha1
kind: TrainingJob
metadata:
  name: elastic
  namespace: default
spec:
  cleanPodPolicy: Running
  slotsPerWorker: 2
  etReplicaSpecs:
    launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: mnist
            image: example.org/train:1
            env:
            - {name: workers, value: "2"}
            - {name: gpus, value: "2"}
            command:
            - sh
            - -c
            - |
              cd /tmp && horovodrun --log-level DEBUG -np $((${workers}*${gpus})) --min-np 2 --max-np 18 \
                --host-discovery-script /etc/edl/discover_hosts.sh \
                sh -c 'echo "$RANK of $WORLD_SIZE, $HOROVOD_LOG_LEVEL"'
    worker:
      maxReplicas: 9
      minReplicas: 1
      replicas: 2
      template:
        spec:
          containers:
          - name: mnist
            image: example.org/train:1
END
at=etReplicaSpecs.launcher
printf 'node1 slots=2\nnode2 slots=2\n' >hosts
launch et.yaml --transport=exec --hostfile=hosts --label=none
is "... and its line runs" "$rc" 0
is "... elastically" "$(sort out | tr '\n' ' ')" "0 of 4, DEBUG 1 of 4, DEBUG 2 of 4, DEBUG 3 of 4, DEBUG "
named et.yaml "$at: -np 4 is left out: an elastic run has as many ranks as its workers have slots" \
    "$at: 'cd /tmp' becomes the workers' workingDir" "$at: --log-level DEBUG is read as --env=HOROVOD_LOG_LEVEL=DEBUG" \
    "$at: --host-discovery-script /etc/edl/discover_hosts.sh is left out: the hosts are the workers" \
    "$at: its env (workers, gpus) is given to the workers, too"

# Arena's deepspeedjob.
sed -e '/^ *cd /,/^ *sh -c/d; s/^            - |$/            - deepspeed --num_nodes=2 "$TRAIN" --deepspeed --steps $workers/' \
    -e 's/{name: gpus, value: "2"}/{name: TRAIN, value: train.py}/' -e '/Replicas: [19]/d' et.yaml >deepspeed.yaml
echo 'import os, sys; print(os.environ["RANK"], sys.argv[1:])' >train.py
launch deepspeed.yaml --transport=exec --hostfile=hosts --label=none
is "... and its line runs" "$rc" 0
is "... as deepspeed's would" "$(sort out | tail -n 1)" "3 ['--local_rank=1', '--deepspeed', '--steps', '2']"

# A line that muster cannot take over is refused before anything is created.
sed -e 's/^             - --allow-run-as-root/             - --ompi-server=x/' v1alpha2.yaml >unknown.yaml
run muster k8s submit -f unknown.yaml --dry-run
is "an option that muster does not know" "$rc" 65
ok "... is named" grep -q 'unknown.yaml: spec.mpiReplicaSpecs.Launcher.template: muster does not know --ompi-server=x of mpirun; leave it out, or' err
sed -e 's/cd .tmp &&/pip install x \&\&/' et.yaml >script.yaml
run muster k8s submit -f script.yaml --dry-run
is "a script" "$rc" 65
ok "... is told where its parts belong" grep -q '& needs a shell, which muster does not start: write the line of mpirun alone; what comes before it' err
is "... and nothing is printed" "$(cat out)" ""
ok "nothing is left" no_leftovers
finish
