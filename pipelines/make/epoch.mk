# Epochs one after another with GNU make: a target for each stage of each epoch.
#
#   make -f pipelines/make/epoch.mk CONFIG=rollmill.yaml ROOT=runs/demo EPOCHS=15
#
# ROOT may be in a bucket ('s3://bucket/run?region=eu-central-1'); STAMPS is then a
# local folder. A target is a small local file that marks a stage as done. Every
# recipe may be killed and run again: a finished dataset is up to date, an
# unfinished rollout continues where it stopped, and no submission is sent twice.
# All settings are in CONFIG.
#
# Before epoch e, if VALIDATE_EVERY divides e (and after the last epoch, if it
# divides EPOCHS), the policy runs the held-out examples of CONFIG's section
# "validation": rollout and score only, never grouped or submitted.
#
# With REFILL=N, an epoch of which too few groups teach is sampled again before it is
# submitted, in up to N rounds; the section "refill" of CONFIG has target-groups.
#
# With SHARDS above 1, GNU parallel runs each stage in that many shards, as many at
# once as there are processors (or as PARALLEL='parallel --jobs 8' sets). A shard
# that fails ends the stage; finished shards are not run again.

ROLLMILL       ?= rollmill
CONFIG         ?= rollmill.yaml
ROOT           ?= runs/epochs
EPOCHS         ?= 1
VALIDATE_EVERY ?= 0
REFILL         ?= 0
STAMPS         ?= $(ROOT)/.stamps
SHARDS         ?= 1
PARALLEL       ?= parallel

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

all:

comma    := ,
run       = $(ROLLMILL) $(1) --config $(CONFIG) --root '$(ROOT)'
shards    = $(if $(filter-out 1,$(SHARDS)),$(PARALLEL) --quote --halt soon$(comma)fail=1 -N0 $(run) --shard auto/$(SHARDS) ::: $(shell seq $(SHARDS)),$(run))
stamp     = $(STAMPS)/epoch-$(1)-$(2)
done      = > $@.part && mv $@.part $@
epochs   := $(shell seq 0 $$(($(EPOCHS) - 1)))
validated:= $(if $(filter-out 0,$(VALIDATE_EVERY)),$(shell seq 0 $(VALIDATE_EVERY) $(EPOCHS)))
before    = $(if $(filter-out 0,$(1)),$(call stamp,$(word $(1),$(epochs)),$(2)))
policy    = $(or $(call before,$(1),submit),$(STAMPS)/policy)

$(STAMPS)/policy: $(CONFIG)
	@mkdir -p $(@D)
	@$(call run,check)
	@$(call run,submit --prepare) $(done)

# $(1) is the epoch.
define epoch
$(call stamp,$(1),rollout): $(call policy,$(1)) $(if $(filter $(1),$(validated)),$(call stamp,$(1),validation))
	@$$(call shards,rollout --epoch $(1)) $$(done)
$(call stamp,$(1),score): $(call stamp,$(1),rollout)
	@$$(call shards,score --epoch $(1)) $$(done)
$(call stamp,$(1),group): $(call stamp,$(1),score)
	@$$(call shards,group --epoch $(1)) $$(done)
$(call stamp,$(1),curate): $(call stamp,$(1),group) $(call before,$(1),curate)
	@$$(call shards,curate --epoch $(1)) $$(done)
$(call stamp,$(1),submit): $(call stamp,$(1),curate)
	$(if $(filter-out 0,$(REFILL)),@$$(call run,refill --epoch $(1) --refill-rounds $(REFILL)) > /dev/null)
	@$$(call run,submit --epoch $(1) --wait) $$(done)
	@$$(call run,report) --quiet > /dev/null
all: $(call stamp,$(1),submit)
endef
$(foreach e,$(epochs),$(eval $(call epoch,$(e))))

define validation
$(call stamp,$(1),validation): $(call policy,$(1))
	@$$(call run,rollout --validation --epoch $(1)) > $$@.rollout
	@$$(call run,score --validation --epoch $(1)) $$(done)
all: $(call stamp,$(1),validation)
endef
$(foreach e,$(validated),$(eval $(call validation,$(e))))
