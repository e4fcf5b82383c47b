#!/bin/sh
# The puppet jig on the node: applies the manifests of the role and sends the summary of the run.
#
#   sh puppet.sh PLACE NODE
#
# PLACE is the directory of the unpacked archive. Output of puppet goes to the log; standard output
# carries the summary, and after a failure the measurements.
set -u

place=$1
node=$2
PATH=$PATH:/opt/puppetlabs/bin
export PATH
if ! command -v puppet > /dev/null; then
    echo "puppet is not installed on this machine (package puppet-agent)" >&2
    exit 1
fi
modules=$place/modules
for folder in /etc/puppet/code/modules /usr/share/puppet/modules /opt/puppetlabs/puppet/modules; do
    [ ! -d "$folder" ] || modules=$modules:$folder
done
code=0
puppet apply --detailed-exitcodes --color=false --certname="$node" \
    --modulepath="$modules" --hiera_config="$place/hiera.yaml" \
    --pluginfactdest="$place/facts" --lastrunfile="$place/summary.yaml" \
    "$place/manifests" >&2 || code=$?
[ ! -f "$place/summary.yaml" ] || cat "$place/summary.yaml"
if [ "$code" -ne 0 ] && [ "$code" -ne 2 ]; then
    . "$place/measure.sh"
    measure_end "$place" # these lines are comments in YAML
fi
exit "$code"
