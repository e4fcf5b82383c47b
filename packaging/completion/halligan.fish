# Completion of halligan for fish. Made by `halligan completion fish`.

function __halligan_nouns
        printf '%s\t%s\n' nodes 'machines'
        printf '%s\t%s\n' roles 'what can be done to a node'
        printf '%s\t%s\n' deployments 'nodes and roles that are planned and committed together'
        printf '%s\t%s\n' deployment-roles 'roles of a deployment, and their data there'
        printf '%s\t%s\n' noderoles 'roles bound to nodes: the work'
        printf '%s\t%s\n' runs 'work that is going on'
        printf '%s\t%s\n' snapshots 'what a deployment was, commit by commit'
        printf '%s\t%s\n' attribs 'what roles want to know and can tell'
        printf '%s\t%s\n' barclamps 'content that the daemon has (barclamp: on the disk)'
        printf '%s\t%s\n' jigs 'how roles are run'
        printf '%s\t%s\n' hammers 'how nodes are switched and reached'
        printf '%s\t%s\n' available-hammers 'kinds of hammers there are'
        printf '%s\t%s\n' groups 'nodes that are looked at together'
        printf '%s\t%s\n' users 'who may do what'
        printf '%s\t%s\n' tokens 'secrets that let programs in'
        printf '%s\t%s\n' events 'what happened'
        printf '%s\t%s\n' audit 'who did what'
        printf '%s\t%s\n' barclamp 'content on the disk: roles, attribs, hooks, scripts'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' inventory 'Tell Ansible what there is'
        printf '%s\t%s\n' login 'Make a token and keep it'
        printf '%s\t%s\n' logout 'Delete that token, here and there'
        printf '%s\t%s\n' completion 'Print what a shell needs to complete words'
end

function __halligan_verbs
    switch $argv[1]
    case nodes
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' destroy 'Delete it, with its noderoles'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' bind 'Bind roles to it'
        printf '%s\t%s\n' commit 'Let what is proposed become work'
        printf '%s\t%s\n' propose 'Take its noderoles back into the planning'
        printf '%s\t%s\n' retry 'Retry what is in error on it'
        printf '%s\t%s\n' why 'Say what it is waiting for, down to the root'
        printf '%s\t%s\n' move 'Put it into another deployment'
        printf '%s\t%s\n' power 'Switch it or read its power; without an action, say which there are'
        printf '%s\t%s\n' redeploy 'Begin anew with it: reset, discovery, and everything that is bound'
        printf '%s\t%s\n' debug 'Hold it where one can look at it'
        printf '%s\t%s\n' undebug 'Let it go on'
        printf '%s\t%s\n' forget-key 'Forget its ssh host keys; the next contact pins them anew'
        printf '%s\t%s\n' get 'Show attribs of it'
        printf '%s\t%s\n' set 'Give an attrib of it a value'
        printf '%s\t%s\n' token 'Make a token that can touch this node alone'
    case roles
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' get 'Show attribs of it'
        printf '%s\t%s\n' set 'Give an attrib of it a value'
    case deployments
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' destroy 'Delete it, with its noderoles'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' bind 'Add roles to it'
        printf '%s\t%s\n' plan 'Say what a commit would do; changes nothing'
        printf '%s\t%s\n' commit 'Let what is proposed become work'
        printf '%s\t%s\n' propose 'Open it for changes'
        printf '%s\t%s\n' recall 'Take a commit back as far as nothing has begun'
        printf '%s\t%s\n' revert 'Propose what a snapshot was'
        printf '%s\t%s\n' diff 'Say what changed between two snapshots'
        printf '%s\t%s\n' retry 'Retry what is in error in it'
        printf '%s\t%s\n' why 'Say what it is waiting for, down to the root'
        printf '%s\t%s\n' graph 'Show who depends on whom'
        printf '%s\t%s\n' get 'Show attribs of it'
        printf '%s\t%s\n' set 'Give an attrib of it a value'
    case deployment-roles
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' destroy 'Delete it'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' commit 'Let its data count'
        printf '%s\t%s\n' propose 'Open its data for changes'
        printf '%s\t%s\n' get 'Show attribs of it'
        printf '%s\t%s\n' set 'Give an attrib of it a value'
    case noderoles
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' destroy 'Delete it'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' bind 'Bind roles to a node'
        printf '%s\t%s\n' commit 'Let what is proposed become work'
        printf '%s\t%s\n' propose 'Take it back into the planning'
        printf '%s\t%s\n' retry 'Run it again after an error'
        printf '%s\t%s\n' why 'Say what it is waiting for, down to the root'
        printf '%s\t%s\n' log 'Show what its newest run says'
        printf '%s\t%s\n' runs 'Show its runs that are over, newest first'
        printf '%s\t%s\n' get 'Show attribs of it'
        printf '%s\t%s\n' set 'Give an attrib of it a value'
    case runs
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' log 'Show what it says'
        printf '%s\t%s\n' cancel 'Stop it'
    case snapshots
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' diff 'Say what changed from one to the other'
    case attribs
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' destroy 'Delete it'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
    case barclamps
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' upload 'Bring a barclamp into the daemon, or a newer version of it'
    case jigs
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' wait 'Wait until a field has a value'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
    case hammers
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' destroy 'Delete it'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' perform 'Let it do something to its node'
    case available-hammers
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
    case groups
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' destroy 'Delete it'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' nodes 'Show the nodes in it'
        printf '%s\t%s\n' add 'Put nodes into it'
        printf '%s\t%s\n' remove 'Take nodes out of it'
    case users
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' show 'Show everything about it'
        printf '%s\t%s\n' create 'Make a new one, or many'
        printf '%s\t%s\n' update 'Change fields of it'
        printf '%s\t%s\n' destroy 'Delete it'
        printf '%s\t%s\n' watch 'Show the list again whenever something changes'
        printf '%s\t%s\n' password 'Give a new password'
        printf '%s\t%s\n' lock 'Let nobody in by that name'
        printf '%s\t%s\n' unlock 'Let the user in again'
        printf '%s\t%s\n' promote 'Make the user an administrator'
        printf '%s\t%s\n' demote 'Make the user one like others'
    case tokens
        printf '%s\t%s\n' list 'Show all of them, or those that are wanted'
        printf '%s\t%s\n' create 'Make a new one'
        printf '%s\t%s\n' destroy 'Delete it'
    case events
        printf '%s\t%s\n' list 'Show what happened'
        printf '%s\t%s\n' watch 'Show what happens, until interrupted'
    case audit
        printf '%s\t%s\n' list 'Show who did what, to administrators'
    case barclamp
        printf '%s\t%s\n' check 'Say what is wrong with barclamps'
        printf '%s\t%s\n' new 'Make a new barclamp'
    end
end

function __halligan_others
    set -l options
    set -l named
    switch "$argv[1]/$argv[2]"
    case nodes/list
        set options --output --quiet --filter --sort --limit --after --watch --all --state --group --url --user --token-file --ca --help
    case nodes/show
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case nodes/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named nodes
    case nodes/destroy
        set options --output --quiet --yes --url --user --token-file --ca --help
        set named nodes
    case nodes/wait
        set options --timeout --url --user --token-file --ca --help
        set named nodes
    case nodes/watch
        set options --output --quiet --filter --sort --limit --after --all --state --group --url --user --token-file --ca --help
    case nodes/bind
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/commit
        set options --output --quiet --wait --timeout --yes --url --user --token-file --ca --help
        set named nodes
    case nodes/propose
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/retry
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/why
        set options --output --url --user --token-file --ca --help
        set named nodes
    case nodes/move
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/power
        set options --output --wait --timeout --url --user --token-file --ca --help
        set named nodes
    case nodes/redeploy
        set options --output --quiet --yes --url --user --token-file --ca --help
        set named nodes
    case nodes/debug
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/undebug
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/forget-key
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case nodes/get
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named nodes
    case nodes/set
        set options --output --quiet --bucket --propose --url --user --token-file --ca --help
        set named nodes
    case nodes/token
        set options --output --quiet --url --user --token-file --ca --help
        set named nodes
    case roles/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case roles/show
        set options --output --quiet --url --user --token-file --ca --help
        set named roles
    case roles/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named roles
    case roles/wait
        set options --timeout --url --user --token-file --ca --help
        set named roles
    case roles/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case roles/get
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named roles
    case roles/set
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named roles
    case deployments/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case deployments/show
        set options --output --quiet --url --user --token-file --ca --help
        set named deployments
    case deployments/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case deployments/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named deployments
    case deployments/destroy
        set options --output --quiet --yes --url --user --token-file --ca --help
        set named deployments
    case deployments/wait
        set options --timeout --url --user --token-file --ca --help
        set named deployments
    case deployments/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case deployments/bind
        set options --output --quiet --url --user --token-file --ca --help
        set named deployments
    case deployments/plan
        set options --output --quiet --detail --url --user --token-file --ca --help
        set named deployments
    case deployments/commit
        set options --output --quiet --wait --timeout --plan --rerun-changed --yes --url --user --token-file --ca --help
        set named deployments
    case deployments/propose
        set options --output --quiet --url --user --token-file --ca --help
        set named deployments
    case deployments/recall
        set options --output --quiet --url --user --token-file --ca --help
        set named deployments
    case deployments/revert
        set options --output --quiet --url --user --token-file --ca --help
        set named deployments
    case deployments/diff
        set options --output --url --user --token-file --ca --help
        set named deployments
    case deployments/retry
        set options --output --quiet --url --user --token-file --ca --help
        set named deployments
    case deployments/why
        set options --output --url --user --token-file --ca --help
        set named deployments
    case deployments/graph
        set options --output --url --user --token-file --ca --help
        set named deployments
    case deployments/get
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named deployments
    case deployments/set
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named deployments
    case deployment-roles/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case deployment-roles/show
        set options --output --quiet --url --user --token-file --ca --help
        set named deployment-roles
    case deployment-roles/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case deployment-roles/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named deployment-roles
    case deployment-roles/destroy
        set options --output --quiet --url --user --token-file --ca --help
        set named deployment-roles
    case deployment-roles/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case deployment-roles/commit
        set options --output --quiet --url --user --token-file --ca --help
        set named deployment-roles
    case deployment-roles/propose
        set options --output --quiet --url --user --token-file --ca --help
        set named deployment-roles
    case deployment-roles/get
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named deployment-roles
    case deployment-roles/set
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named deployment-roles
    case noderoles/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case noderoles/show
        set options --output --quiet --url --user --token-file --ca --help
        set named noderoles
    case noderoles/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case noderoles/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named noderoles
    case noderoles/destroy
        set options --output --quiet --url --user --token-file --ca --help
        set named noderoles
    case noderoles/wait
        set options --timeout --url --user --token-file --ca --help
        set named noderoles
    case noderoles/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case noderoles/bind
        set options --output --quiet --url --user --token-file --ca --help
        set named noderoles
    case noderoles/commit
        set options --output --quiet --wait --timeout --yes --url --user --token-file --ca --help
        set named noderoles
    case noderoles/propose
        set options --output --quiet --url --user --token-file --ca --help
        set named noderoles
    case noderoles/retry
        set options --output --quiet --url --user --token-file --ca --help
        set named noderoles
    case noderoles/why
        set options --output --url --user --token-file --ca --help
        set named noderoles
    case noderoles/log
        set options --follow --attempt --url --user --token-file --ca --help
        set named noderoles
    case noderoles/runs
        set options --output --quiet --url --user --token-file --ca --help
        set named noderoles
    case noderoles/get
        set options --output --quiet --bucket --url --user --token-file --ca --help
        set named noderoles
    case noderoles/set
        set options --output --quiet --bucket --propose --url --user --token-file --ca --help
        set named noderoles
    case runs/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case runs/show
        set options --output --quiet --url --user --token-file --ca --help
        set named runs
    case runs/wait
        set options --timeout --url --user --token-file --ca --help
        set named runs
    case runs/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case runs/log
        set options --follow --url --user --token-file --ca --help
        set named runs
    case runs/cancel
        set options --output --quiet --url --user --token-file --ca --help
        set named runs
    case snapshots/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case snapshots/show
        set options --output --quiet --url --user --token-file --ca --help
        set named snapshots
    case snapshots/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named snapshots
    case snapshots/wait
        set options --timeout --url --user --token-file --ca --help
        set named snapshots
    case snapshots/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case snapshots/diff
        set options --output --url --user --token-file --ca --help
        set named snapshots
    case attribs/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case attribs/show
        set options --output --quiet --url --user --token-file --ca --help
        set named attribs
    case attribs/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case attribs/destroy
        set options --output --quiet --url --user --token-file --ca --help
        set named attribs
    case attribs/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case barclamps/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case barclamps/show
        set options --output --quiet --url --user --token-file --ca --help
        set named barclamps
    case barclamps/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case barclamps/upload
        set options --output --quiet --url --user --token-file --ca --help
    case jigs/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case jigs/show
        set options --output --quiet --url --user --token-file --ca --help
        set named jigs
    case jigs/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named jigs
    case jigs/wait
        set options --timeout --url --user --token-file --ca --help
        set named jigs
    case jigs/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case hammers/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case hammers/show
        set options --output --quiet --url --user --token-file --ca --help
        set named hammers
    case hammers/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case hammers/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named hammers
    case hammers/destroy
        set options --output --quiet --url --user --token-file --ca --help
        set named hammers
    case hammers/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case hammers/perform
        set options --output --url --user --token-file --ca --help
        set named hammers
    case available-hammers/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case available-hammers/show
        set options --output --quiet --url --user --token-file --ca --help
        set named available-hammers
    case groups/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case groups/show
        set options --output --quiet --url --user --token-file --ca --help
        set named groups
    case groups/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case groups/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named groups
    case groups/destroy
        set options --output --quiet --url --user --token-file --ca --help
        set named groups
    case groups/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case groups/nodes
        set options --output --quiet --url --user --token-file --ca --help
        set named groups
    case groups/add
        set options --url --user --token-file --ca --help
        set named groups
    case groups/remove
        set options --url --user --token-file --ca --help
        set named groups
    case users/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case users/show
        set options --output --quiet --url --user --token-file --ca --help
        set named users
    case users/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case users/update
        set options --output --quiet --file --url --user --token-file --ca --help
        set named users
    case users/destroy
        set options --output --quiet --url --user --token-file --ca --help
        set named users
    case users/watch
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case users/password
        set options --output --quiet --url --user --token-file --ca --help
        set named users
    case users/lock
        set options --output --quiet --url --user --token-file --ca --help
        set named users
    case users/unlock
        set options --output --quiet --url --user --token-file --ca --help
        set named users
    case users/promote
        set options --output --quiet --url --user --token-file --ca --help
        set named users
    case users/demote
        set options --output --quiet --url --user --token-file --ca --help
        set named users
    case tokens/list
        set options --output --quiet --filter --sort --limit --after --watch --url --user --token-file --ca --help
    case tokens/create
        set options --output --quiet --file --url --user --token-file --ca --help
    case tokens/destroy
        set options --output --quiet --url --user --token-file --ca --help
        set named tokens
    case events/list
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case events/watch
        set options --output --quiet --url --user --token-file --ca --help
    case audit/list
        set options --output --quiet --filter --sort --limit --after --url --user --token-file --ca --help
    case barclamp/check
        set options --help
    case barclamp/new
        set options --help
    case 'wait/*'
        set options --timeout --url --user --token-file --ca --help
    case 'inventory/*'
        set options --output --list --host --url --user --token-file --ca --help
    case 'login/*'
        set options --url --user --token-file --ca --help
    case 'logout/*'
        set options --url --user --token-file --ca --help
    case 'completion/*'
        set options --help
    end
    if contains -- $argv[-1] -o --output
        printf '%s\n' table json yaml
    else if contains -- $argv[-1] -f --file --ca --token-file
        __fish_complete_path (commandline -ct)
    else if string match -q -- '-*' (commandline -ct)
        printf '%s\n' $options
    else if test -n "$named"; and test (count $argv) -eq 2
        halligan $named list -q </dev/null 2>/dev/null
    else
        __fish_complete_path (commandline -ct)
    end
end

function __halligan_words
    set -l before (commandline -opc)[2..]
    switch (count $before)
    case 0
        __halligan_nouns
    case 1
        __halligan_verbs $before
    case '*'
        __halligan_others $before
    end
end

complete -c halligan -f -a '(__halligan_words)'
