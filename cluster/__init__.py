"""Work spread over machines: one more implementation of the worker protocol of `base/workers.py`.

coordinator   the `Workers` of a cluster, and the nodes that there are
run           gives the jobs of one run out and takes their results, whatever carries them
links         what carries orders to nodes, and the events that come back
leases        which node has which job, since when, and until when
node          what does the work on one machine, with worker processes of its own
fingerprint   what decides the bits of a result, compared before a node takes part
figures       what each node did, as metrics
options       `--workers`, `--cluster` and `--mixed` of commands; from there to workers
ray_nodes     nodes of a Ray cluster
private       a Ray cluster of its own on this machine, to try it
folder        nodes that share a folder

Docs: docs/cluster.md. Ray is the extra `[cluster]`; it is imported where a Ray cluster is used, and nowhere else.
"""

import base  # first: Ctrl-C during the other imports
