/* jig_class.c - the table of jig classes, and the search in it. Constants only. A name is searched
 * among our classes first, then among those of OpenCrowbar as written, then without the module of
 * its framework, so that a full name has priority over a shortened one. Unknown: NULL. */
#include "model/jig_class.h"

enum {
    NOOP,
    NATIVE,
    TEST,
    SCRIPT,
    ROLE_PROVIDED,
    PUPPET,
    ANSIBLE,
    AGENT,
    CHEF,
    CHEF_SOLO,
    CLASS_COUNT
};

/* clang-format off */
static const struct jig_class classes[CLASS_COUNT] = {
    /*                 name             noop   native test   itself active */
    [NOOP]          = {"noop",          true,  false, false, true,  true},  /* no work */
    [NATIVE]        = {"native",        true,  true,  false, true,  true},  /* the daemon works */
    [TEST]          = {"test",          false, false, true,  true,  false}, /* simulated work */
    [SCRIPT]        = {"script",        false, false, false, false, true},  /* shell scripts */
    [ROLE_PROVIDED] = {"role-provided", false, false, false, true,  true},  /* Lua code */
    [PUPPET]        = {"puppet",        false, false, false, false, true},  /* puppet apply */
    [ANSIBLE]       = {"ansible",       false, false, false, false, true},  /* playbook */
    [AGENT]         = {"agent",         false, false, false, false, true},  /* on the machine */
    [CHEF]          = {"chef",          false, false, false, false, true},  /* with a server */
    [CHEF_SOLO]     = {"chef-solo",     false, false, false, false, true},  /* without one */
};

static const struct {
    const char *name;
    uint32_t index;
} opencrowbar_names[] = {
    {"NoopJig", NOOP},
    {"TestJig", TEST},
    {"BarclampTest::Jig", TEST},
    {"BarclampTest::TestJig", TEST},
    {"ScriptJig", SCRIPT},
    {"BarclampCrowbar::Jig", SCRIPT},
    {"BarclampRebar::Jig", SCRIPT},
    {"RoleProvidedJig", ROLE_PROVIDED},
    {"puppet-sa", PUPPET},
    {"PuppetJig", PUPPET},
    {"BarclampPuppet::Jig", PUPPET},
    {"BarclampPuppet::SaJig", PUPPET},
    {"BarclampPuppet::PuppetJig", PUPPET},
    {"AnsibleJig", ANSIBLE},
    {"AnsiblePlaybookJig", ANSIBLE},
    {"AgentJig", AGENT},
    {"ChefJig", CHEF},
    {"BarclampChef::Jig", CHEF},
    {"ChefSoloJig", CHEF_SOLO},
    {"BarclampChef::SoloJig", CHEF_SOLO},
};
/* clang-format on */

/* Removes the module of the framework, which was renamed between releases of OpenCrowbar. */
static struct str jig_class_without_framework(struct str name)
{
    static const char *const modules[] = {"BarclampCrowbar::", "BarclampRebar::"};
    for (uint32_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        const struct str module = str_from(modules[i]);
        if (str_starts(name, module))
            return str_slice(name, module.len, name.len);
    }
    return name;
}

static const struct jig_class *jig_class_find_opencrowbar(struct str name)
{
    for (uint32_t i = 0; i < sizeof opencrowbar_names / sizeof opencrowbar_names[0]; i++)
        if (str_eq(name, str_from(opencrowbar_names[i].name)))
            return &classes[opencrowbar_names[i].index];
    return NULL;
}

const struct jig_class *jig_class_find(struct str class_name)
{
    for (uint32_t i = 0; i < CLASS_COUNT; i++)
        if (str_eq(class_name, str_from(classes[i].name)))
            return &classes[i];
    const struct jig_class *found = jig_class_find_opencrowbar(class_name);
    return found ? found : jig_class_find_opencrowbar(jig_class_without_framework(class_name));
}
