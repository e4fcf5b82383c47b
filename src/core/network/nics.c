#include "core/core_private.h"
void do_nics_make(struct core *c, const struct nics_make_command *p) { (void)c; (void)p; }
void do_nic_move(struct core *c, const struct nic_move_command *p) { (void)c; (void)p; }
