/* Enters in the ledger what collapsed stacks cannot represent. */
#pragma once

#include "frame_texts.h"
#include "writer/losses.h"

/* Enters all losses of the profile whose frames have these texts. */
void collapsed_losses_enter(const struct frame_texts *texts, struct ledger *ledger);
