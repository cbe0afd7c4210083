# Epochs one after another with GNU make: a target for each stage of each epoch.
#
#   make -f pipelines/make/epoch.mk CONFIG=rollmill.yaml ROOT=runs/demo EPOCHS=15
#
# A stage's target is a small local file that holds the URI of the dataset it
# wrote, so ROOT may as well be in a bucket (s3://bucket/run, with STAMPS a
# folder, and QUERY what follows the question mark). Every recipe may be killed and run
# again: a finished dataset is up to date, an unfinished rollout goes on where
# it stopped, and a submission that was sent is never sent twice: ROOT holds the
# ledger, whatever root CONFIG names. All settings are in CONFIG; only what
# changes from epoch to epoch is said here.
#
# Before epoch e, when VALIDATE_EVERY divides e (and after the last epoch, when
# it divides EPOCHS), the policy plays the held-out examples of CONFIG's
# section "validation": rollout and score only, never grouped or submitted.
#
# With SHARDS above 1, GNU parallel does each stage in so many shards, as many
# at once as there are processors (PARALLEL='parallel --jobs 8' says otherwise).
# A shard that fails ends the stage; one that is finished is not redone.

ROLLMILL       ?= rollmill
CONFIG         ?= rollmill.yaml
ROOT           ?= runs/epochs
EPOCHS         ?= 1
VALIDATE_EVERY ?= 0
STAMPS         ?= $(ROOT)/.stamps
QUERY          ?=
SHARDS         ?= 1
PARALLEL       ?= parallel

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

run       = @$(ROLLMILL) $(1) --config $(CONFIG)
# The same in shards: parallel numbers them in a variable that auto reads. Each
# prints where it wrote, which is the same place.
shards    = @$(if $(filter-out 1,$(SHARDS)),$(PARALLEL) --quote --halt soon$(comma)fail=1 -N0 )$(ROLLMILL) $(1) --config $(CONFIG)
comma    := ,
root      = --root '$(ROOT)$(if $(QUERY),?$(QUERY))'
at        = '$(ROOT)/epoch-$(1)/$(2)$(if $(QUERY),?$(QUERY))'
stamp     = $(STAMPS)/epoch-$(1)-$(2)
write     = > $@.part && mv $@.part $@
each      = $(if $(filter-out 1,$(SHARDS)),--shard auto/$(SHARDS) ::: $(shell seq $(SHARDS)) > $@.all && tail -n 1 $@.all )$(write)
epochs   := $(shell seq 0 $$(($(EPOCHS) - 1)))
before    = $(if $(filter-out 0,$(1)),$(call stamp,$(word $(1),$(epochs)),submit),$(STAMPS)/policy)
validated:= $(if $(filter-out 0,$(VALIDATE_EVERY)),$(shell seq 0 $(VALIDATE_EVERY) $(EPOCHS)))

all: $(if $(epochs),$(call stamp,$(lastword $(epochs)),submit)) $(foreach e,$(validated),$(call stamp,$(e),validation))

$(STAMPS)/policy: $(CONFIG)
	@mkdir -p $(@D)
	$(call run,check) --set 'root=$(ROOT)$(if $(QUERY),?$(QUERY))'
	$(call run,submit) --prepare $(root) --out '$(ROOT)/policy$(if $(QUERY),?$(QUERY))' $(write)

# $(1) the epoch, $(2) the stamp of the policy that plays it
define epoch
$(call stamp,$(1),rollout): $(2) $(if $(filter $(1),$(validated)),$(call stamp,$(1),validation))
	$$(call shards,rollout) $$(root) --epoch $(1) --policy "$$$$(cat $(2))" --out $(call at,$(1),rollout) $$(each)
$(call stamp,$(1),score): $(call stamp,$(1),rollout)
	$$(call shards,score) --in "$$$$(cat $$<)" --out $(call at,$(1),score) $$(each)
$(call stamp,$(1),group): $(call stamp,$(1),score)
	$$(call shards,group) --in "$$$$(cat $$<)" --out $(call at,$(1),group) $$(each)
$(call stamp,$(1),curate): $(call stamp,$(1),group) $(if $(filter-out 0,$(1)),$(call stamp,$(word $(1),$(epochs)),curate))
	$$(call shards,curate) --in "$$$$(cat $$<)" --epoch $(1) $(if $(filter-out 0,$(1)),--previous "$$$$(cat $(call stamp,$(word $(1),$(epochs)),curate))") --out $(call at,$(1),curate) $$(each)
$(call stamp,$(1),submit): $(call stamp,$(1),curate)
	$$(call run,submit) --in "$$$$(cat $$<)" --wait --out $(call at,$(1),submit) $$(write)
endef
$(foreach e,$(epochs),$(eval $(call epoch,$(e),$(call before,$(e)))))

define validation
$(call stamp,$(1),validation): $(2)
	$$(call run,rollout) --validation $$(root) --epoch $(1) --policy "$$$$(cat $(2))" --out $(call at,$(1),validation/rollout) > $$@.rollout
	$$(call run,score) --validation --in "$$$$(cat $$@.rollout)" --out $(call at,$(1),validation/score) $$(write)
endef
$(foreach e,$(validated),$(eval $(call validation,$(e),$(call before,$(e)))))
