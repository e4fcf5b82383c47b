# Completion of halligan for bash. Made by `halligan completion bash`.

_halligan_tables() {
    nouns="nodes roles deployments deployment-roles noderoles runs snapshots attribs barclamps jigs hammers available-hammers groups users tokens events audit barclamp wait inventory login logout completion --help --version"
    verbs= options= named=
    case "$1" in
        nodes) verbs="list show create update destroy wait watch bind commit propose retry why move power redeploy debug undebug forget-key get set token --help" ;;
        roles) verbs="list show update wait watch get set --help" ;;
        deployments) verbs="list show create update destroy wait watch bind plan commit propose recall revert diff retry why graph get set --help" ;;
        deployment-roles) verbs="list show create update destroy watch commit propose get set --help" ;;
        noderoles) verbs="list show create update destroy wait watch bind commit propose retry why log runs get set --help" ;;
        runs) verbs="list show wait watch log cancel --help" ;;
        snapshots) verbs="list show update wait watch diff --help" ;;
        attribs) verbs="list show create destroy watch --help" ;;
        barclamps) verbs="list show watch upload --help" ;;
        jigs) verbs="list show update wait watch --help" ;;
        hammers) verbs="list show create update destroy watch perform --help" ;;
        available-hammers) verbs="list show --help" ;;
        groups) verbs="list show create update destroy watch nodes add remove --help" ;;
        users) verbs="list show create update destroy watch password lock unlock promote demote --help" ;;
        tokens) verbs="list create destroy --help" ;;
        events) verbs="list watch --help" ;;
        audit) verbs="list --help" ;;
        barclamp) verbs="check new --help" ;;
    esac
    case "$1/$2" in
        nodes/list) options=" --output --quiet --filter --sort --limit --after --watch --all --state --group --url --user --token-file --ca --help"; named= ;;
        nodes/show) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        nodes/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=nodes ;;
        nodes/destroy) options=" --output --quiet --yes --url --user --token-file --ca --help"; named=nodes ;;
        nodes/wait) options=" --timeout --url --user --token-file --ca --help"; named=nodes ;;
        nodes/watch) options=" --output --quiet --filter --sort --limit --after --all --state --group --url --user --token-file --ca --help"; named= ;;
        nodes/bind) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/commit) options=" --output --quiet --wait --timeout --yes --url --user --token-file --ca --help"; named=nodes ;;
        nodes/propose) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/retry) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/why) options=" --output --url --user --token-file --ca --help"; named=nodes ;;
        nodes/move) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/power) options=" --output --wait --timeout --url --user --token-file --ca --help"; named=nodes ;;
        nodes/redeploy) options=" --output --quiet --yes --url --user --token-file --ca --help"; named=nodes ;;
        nodes/debug) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/undebug) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/forget-key) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        nodes/get) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=nodes ;;
        nodes/set) options=" --output --quiet --bucket --propose --url --user --token-file --ca --help"; named=nodes ;;
        nodes/token) options=" --output --quiet --url --user --token-file --ca --help"; named=nodes ;;
        roles/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        roles/show) options=" --output --quiet --url --user --token-file --ca --help"; named=roles ;;
        roles/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=roles ;;
        roles/wait) options=" --timeout --url --user --token-file --ca --help"; named=roles ;;
        roles/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        roles/get) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=roles ;;
        roles/set) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=roles ;;
        deployments/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        deployments/show) options=" --output --quiet --url --user --token-file --ca --help"; named=deployments ;;
        deployments/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        deployments/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=deployments ;;
        deployments/destroy) options=" --output --quiet --yes --url --user --token-file --ca --help"; named=deployments ;;
        deployments/wait) options=" --timeout --url --user --token-file --ca --help"; named=deployments ;;
        deployments/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        deployments/bind) options=" --output --quiet --url --user --token-file --ca --help"; named=deployments ;;
        deployments/plan) options=" --output --quiet --detail --url --user --token-file --ca --help"; named=deployments ;;
        deployments/commit) options=" --output --quiet --wait --timeout --plan --rerun-changed --yes --url --user --token-file --ca --help"; named=deployments ;;
        deployments/propose) options=" --output --quiet --url --user --token-file --ca --help"; named=deployments ;;
        deployments/recall) options=" --output --quiet --url --user --token-file --ca --help"; named=deployments ;;
        deployments/revert) options=" --output --quiet --url --user --token-file --ca --help"; named=deployments ;;
        deployments/diff) options=" --output --url --user --token-file --ca --help"; named=deployments ;;
        deployments/retry) options=" --output --quiet --url --user --token-file --ca --help"; named=deployments ;;
        deployments/why) options=" --output --url --user --token-file --ca --help"; named=deployments ;;
        deployments/graph) options=" --output --url --user --token-file --ca --help"; named=deployments ;;
        deployments/get) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=deployments ;;
        deployments/set) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=deployments ;;
        deployment-roles/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        deployment-roles/show) options=" --output --quiet --url --user --token-file --ca --help"; named=deployment-roles ;;
        deployment-roles/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        deployment-roles/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=deployment-roles ;;
        deployment-roles/destroy) options=" --output --quiet --url --user --token-file --ca --help"; named=deployment-roles ;;
        deployment-roles/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        deployment-roles/commit) options=" --output --quiet --url --user --token-file --ca --help"; named=deployment-roles ;;
        deployment-roles/propose) options=" --output --quiet --url --user --token-file --ca --help"; named=deployment-roles ;;
        deployment-roles/get) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=deployment-roles ;;
        deployment-roles/set) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=deployment-roles ;;
        noderoles/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        noderoles/show) options=" --output --quiet --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        noderoles/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/destroy) options=" --output --quiet --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/wait) options=" --timeout --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        noderoles/bind) options=" --output --quiet --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/commit) options=" --output --quiet --wait --timeout --yes --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/propose) options=" --output --quiet --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/retry) options=" --output --quiet --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/why) options=" --output --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/log) options=" --follow --attempt --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/runs) options=" --output --quiet --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/get) options=" --output --quiet --bucket --url --user --token-file --ca --help"; named=noderoles ;;
        noderoles/set) options=" --output --quiet --bucket --propose --url --user --token-file --ca --help"; named=noderoles ;;
        runs/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        runs/show) options=" --output --quiet --url --user --token-file --ca --help"; named=runs ;;
        runs/wait) options=" --timeout --url --user --token-file --ca --help"; named=runs ;;
        runs/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        runs/log) options=" --follow --url --user --token-file --ca --help"; named=runs ;;
        runs/cancel) options=" --output --quiet --url --user --token-file --ca --help"; named=runs ;;
        snapshots/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        snapshots/show) options=" --output --quiet --url --user --token-file --ca --help"; named=snapshots ;;
        snapshots/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=snapshots ;;
        snapshots/wait) options=" --timeout --url --user --token-file --ca --help"; named=snapshots ;;
        snapshots/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        snapshots/diff) options=" --output --url --user --token-file --ca --help"; named=snapshots ;;
        attribs/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        attribs/show) options=" --output --quiet --url --user --token-file --ca --help"; named=attribs ;;
        attribs/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        attribs/destroy) options=" --output --quiet --url --user --token-file --ca --help"; named=attribs ;;
        attribs/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        barclamps/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        barclamps/show) options=" --output --quiet --url --user --token-file --ca --help"; named=barclamps ;;
        barclamps/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        barclamps/upload) options=" --output --quiet --url --user --token-file --ca --help"; named= ;;
        jigs/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        jigs/show) options=" --output --quiet --url --user --token-file --ca --help"; named=jigs ;;
        jigs/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=jigs ;;
        jigs/wait) options=" --timeout --url --user --token-file --ca --help"; named=jigs ;;
        jigs/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        hammers/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        hammers/show) options=" --output --quiet --url --user --token-file --ca --help"; named=hammers ;;
        hammers/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        hammers/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=hammers ;;
        hammers/destroy) options=" --output --quiet --url --user --token-file --ca --help"; named=hammers ;;
        hammers/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        hammers/perform) options=" --output --url --user --token-file --ca --help"; named=hammers ;;
        available-hammers/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        available-hammers/show) options=" --output --quiet --url --user --token-file --ca --help"; named=available-hammers ;;
        groups/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        groups/show) options=" --output --quiet --url --user --token-file --ca --help"; named=groups ;;
        groups/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        groups/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=groups ;;
        groups/destroy) options=" --output --quiet --url --user --token-file --ca --help"; named=groups ;;
        groups/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        groups/nodes) options=" --output --quiet --url --user --token-file --ca --help"; named=groups ;;
        groups/add) options=" --url --user --token-file --ca --help"; named=groups ;;
        groups/remove) options=" --url --user --token-file --ca --help"; named=groups ;;
        users/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        users/show) options=" --output --quiet --url --user --token-file --ca --help"; named=users ;;
        users/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        users/update) options=" --output --quiet --file --url --user --token-file --ca --help"; named=users ;;
        users/destroy) options=" --output --quiet --url --user --token-file --ca --help"; named=users ;;
        users/watch) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        users/password) options=" --output --quiet --url --user --token-file --ca --help"; named=users ;;
        users/lock) options=" --output --quiet --url --user --token-file --ca --help"; named=users ;;
        users/unlock) options=" --output --quiet --url --user --token-file --ca --help"; named=users ;;
        users/promote) options=" --output --quiet --url --user --token-file --ca --help"; named=users ;;
        users/demote) options=" --output --quiet --url --user --token-file --ca --help"; named=users ;;
        tokens/list) options=" --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help"; named= ;;
        tokens/create) options=" --output --quiet --file --url --user --token-file --ca --help"; named= ;;
        tokens/destroy) options=" --output --quiet --url --user --token-file --ca --help"; named=tokens ;;
        events/list) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        events/watch) options=" --output --quiet --url --user --token-file --ca --help"; named= ;;
        audit/list) options=" --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help"; named= ;;
        barclamp/check) options=" --help"; named= ;;
        barclamp/new) options=" --help"; named= ;;
        wait/*) options=" --timeout --url --user --token-file --ca --help" ;;
        inventory/*) options=" --output --list --host --url --user --token-file --ca --help" ;;
        login/*) options=" --url --user --token-file --ca --help" ;;
        logout/*) options=" --url --user --token-file --ca --help" ;;
        completion/*) options=" --help" ;;
    esac
}

_halligan() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local nouns verbs options named
    _halligan_tables "${COMP_WORDS[1]}" "${COMP_WORDS[2]}"
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "$nouns" -- "$cur"))
    elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$verbs" ]; then
        COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
    elif [[ $before == -o || $before == --output ]]; then
        COMPREPLY=($(compgen -W 'table json yaml' -- "$cur"))
    elif [[ $before == -f || $before == --file || $before == --ca ||
            $before == --token-file ]]; then
        COMPREPLY=($(compgen -f -- "$cur"))
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [ -n "$named" ] && [ "$COMP_CWORD" -eq 3 ]; then
        COMPREPLY=($(compgen -W "$(halligan "$named" list -q </dev/null 2>/dev/null)" -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}

complete -F _halligan halligan
