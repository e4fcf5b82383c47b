#include "model/jig_class.h"

enum { NOOP, TEST, SCRIPT, ROLE_PROVIDED, PUPPET, ANSIBLE, AGENT, CHEF, CHEF_SOLO, CLASS_COUNT };

/* clang-format off */
static const struct jig_class classes[CLASS_COUNT] = {
    /*                 name             noop   test   itself active */
    [NOOP]          = {"noop",          true,  false, true,  true},  /* nothing to do */
    [TEST]          = {"test",          false, true,  true,  false}, /* pretends to work */
    [SCRIPT]        = {"script",        false, false, false, true},  /* the role's own scripts */
    [ROLE_PROVIDED] = {"role-provided", false, false, true,  true},  /* code that the role brings */
    [PUPPET]        = {"puppet",        false, false, false, true},  /* manifests, applied alone */
    [ANSIBLE]       = {"ansible",       false, false, false, true},  /* the role's playbook */
    [AGENT]         = {"agent",         false, false, false, true},  /* a self-enrolled agent */
    [CHEF]          = {"chef",          false, false, false, true},  /* chef-client with a server */
    [CHEF_SOLO]     = {"chef-solo",     false, false, false, true},  /* chef without a server */
};

static const struct {
    const char *name;
    uint32_t index;
} ancestors[] = {
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

/* The framework's own classes were moved from one module to another over the years. */
static struct str without_framework(struct str name)
{
    static const char *const modules[] = {"BarclampCrowbar::", "BarclampRebar::"};
    for (uint32_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        const struct str module = str_from(modules[i]);
        if (str_starts(name, module))
            return str_slice(name, module.len, name.len);
    }
    return name;
}

static const struct jig_class *find_ancestor(struct str name)
{
    for (uint32_t i = 0; i < sizeof ancestors / sizeof ancestors[0]; i++)
        if (str_eq(name, str_from(ancestors[i].name)))
            return &classes[ancestors[i].index];
    return NULL;
}

const struct jig_class *jig_class_find(struct str class_name)
{
    for (uint32_t i = 0; i < CLASS_COUNT; i++)
        if (str_eq(class_name, str_from(classes[i].name)))
            return &classes[i];
    const struct jig_class *found = find_ancestor(class_name);
    return found ? found : find_ancestor(without_framework(class_name));
}
