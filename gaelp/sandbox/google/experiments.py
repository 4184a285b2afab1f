"""Campaign experiments: arms with a traffic split, the treatment's copy of the campaign, from setup to end."""

from collections.abc import Iterator, Sequence
from datetime import date

from gaelp.sandbox.google.account_store import AccountStore, is_removed, key_of
from gaelp.sandbox.google.ad_review import AdReviews
from gaelp.sandbox.google.failures import AdsError, AdsRefusal, Unsupported
from gaelp.sandbox.google.messages import Message, copy_of, enum_name, set_enum
from gaelp.sandbox.google.resource_kinds import KINDS
from gaelp.sandbox.google.resource_names import parse_name

__all__ = [
    "arms_of",
    "check_arm",
    "check_experiment",
    "design_treatment",
    "end_experiment",
    "graduate_experiment",
    "promote_experiment",
    "schedule_experiment",
]

_TYPES = ("SEARCH_CUSTOM", "SEARCH_AUTOMATED_BIDDING_STRATEGY")
_MOST_ARMS = 2
_WHOLE_PERCENT = 100


def _error(category: str, code: str, message: str, *fields: str) -> AdsError:
    return AdsError(category, code, message, tuple((field, None) for field in fields))


def arms_of(store: AccountStore, experiment: str) -> tuple[Message | None, Message | None]:
    """Control and treatment arm, as far as they exist."""
    arms = store.children("experiment_arm", "experiment", experiment)
    control = next((arm for arm in arms if arm.control), None)
    return control, next((arm for arm in arms if not arm.control), None)


def check_experiment(message: Message, before: Message | None, store: AccountStore) -> Iterator[AdsError]:
    """Type, suffix and dates."""
    kind = enum_name(message, "type")
    if kind not in _TYPES:
        raise Unsupported(f"experiments of type {kind}: this sandbox has {', '.join(_TYPES)}")
    if not message.suffix:
        yield _error("field_error", "REQUIRED", "The suffix of the treatment campaign's name is required.", "suffix")
    if before is None and enum_name(message, "status") != "SETUP":
        yield _error("experiment_error", "INVALID_STATUS", "A new experiment has the status SETUP.", "status")
    days: dict[str, date] = {}
    for field in ("start_date", "end_date"):
        text = getattr(message, field)
        if not text:
            continue
        try:
            days[field] = date.fromisoformat(text)
        except ValueError:
            yield _error("date_error", "INVALID_STRING_DATE", f"'{text}' is not a date (yyyy-MM-dd).", field)
    is_new = before is None or before.start_date != message.start_date
    if is_new and "start_date" in days and days["start_date"] < store.now.date():
        yield _error("experiment_error", "CANNOT_SET_START_DATE_IN_PAST", "The start is in the past.", "start_date")
    if len(days) == 2 and days["end_date"] < days["start_date"]:
        yield _error("experiment_error", "END_DATE_BEFORE_START_DATE", "The end is before the start.", "end_date")


def check_arm(message: Message, before: Message | None, store: AccountStore) -> Iterator[AdsError]:
    """Traffic split, campaigns, and the other arm."""
    experiment = store.refer(message.experiment)
    if experiment is not None and enum_name(experiment, "status") != "SETUP":
        code = "CANNOT_MUTATE_TRAFFIC_SPLIT_AFTER_START"
        yield _error("experiment_arm_error", code, "The experiment has started; its arms cannot change.", "experiment")
        return
    if not 1 <= message.traffic_split < _WHOLE_PERCENT:
        text = f"A traffic split is 1 to 99 percent, not {message.traffic_split}."
        yield _error("experiment_error", "INVALID_TRIAL_ARM_TRAFFIC_SPLIT", text, "traffic_split")
    others = store.children("experiment_arm", "experiment", message.experiment)
    others = [arm for arm in others if before is None or arm.resource_name != before.resource_name]
    yield from _check_beside(message, others)
    if not message.control and message.campaigns:
        text = "The platform creates the treatment's campaign."
        yield _error("experiment_arm_error", "CANNOT_SET_TREATMENT_ARM_CAMPAIGN", text, "campaigns")
    if message.control:
        yield from _check_base(message, store)


def _check_beside(message: Message, others: list[Message]) -> Iterator[AdsError]:
    if len(others) >= _MOST_ARMS:
        text = f"An experiment has {_MOST_ARMS} arms."
        yield _error("experiment_arm_error", "EXPERIMENT_ARM_COUNT_LIMIT_EXCEEDED", text, "experiment")
    if message.control and any(arm.control for arm in others):
        yield _error("experiment_error", "CANNOT_HAVE_MULTIPLE_CONTROL_ARMS", "There is a control arm.", "control")
    if any(arm.name == message.name for arm in others):
        yield _error("experiment_arm_error", "DUPLICATE_EXPERIMENT_ARM_NAME", "Another arm has this name.", "name")
    total = message.traffic_split + sum(arm.traffic_split for arm in others)
    if total > _WHOLE_PERCENT:
        text = f"The traffic splits of the arms sum to {total}, more than 100."
        yield _error("experiment_error", "TRAFFIC_SPLIT_OVERLAPPING", text, "traffic_split")


def _check_base(message: Message, store: AccountStore) -> Iterator[AdsError]:
    if len(message.campaigns) != 1:
        text = f"The control arm has exactly 1 campaign, not {len(message.campaigns)}."
        yield _error("field_error", "REQUIRED", text, "campaigns")
        return
    campaign, problems = _lookup(store, message.campaigns[0], "campaign", "campaigns")
    yield from problems
    if campaign is None:
        return
    budget = store.existing(campaign.campaign_budget)
    if budget.explicitly_shared or not budget.HasField("explicitly_shared"):
        text = "The campaign has a shared budget; set explicitly_shared to false when it is created."
        yield _error("experiment_arm_error", "CANNOT_ADD_CAMPAIGN_WITH_SHARED_BUDGET", text, "campaigns")
    if enum_name(budget, "period") == "CUSTOM_PERIOD":
        text = "The campaign has a total budget."
        yield _error("experiment_arm_error", "CANNOT_ADD_CAMPAIGN_WITH_CUSTOM_BUDGET", text, "campaigns")


def _lookup(store: AccountStore, name: str, kind: str, field: str) -> tuple[Message | None, Sequence[AdsError]]:
    """A resource that a request names, or what is wrong with the name."""
    try:
        parsed = parse_name(name, KINDS[kind].collection, store.account, ((field, None),))
    except AdsRefusal as refusal:
        return None, refusal.errors
    stored = store.find(KINDS[kind], parsed.key)
    if stored is None or is_removed(stored):
        text = f"Resource was not found: '{name}'."
        return None, (_error("mutate_error", "RESOURCE_NOT_FOUND", text, field),)
    return stored, ()


# The treatment's campaign


def design_treatment(store: AccountStore, reviews: AdReviews, arm: Message) -> None:
    """Once both arms exist, copy the control's campaign for the treatment: a draft until it is scheduled."""
    control, treatment = arms_of(store, arm.experiment)
    if control is None or treatment is None or treatment.in_design_campaigns:
        return
    experiment = store.existing(arm.experiment)
    base = store.existing(control.campaigns[0])
    draft = copy_of(base)
    draft.id = store.call.next_id()
    draft.resource_name = store.resource_name("campaigns", draft.id)
    draft.name = f"{base.name} {experiment.suffix}"
    if store.with_name(KINDS["campaign"], draft.name) is not None:
        text = f"The name '{draft.name}' is used: choose another suffix."
        raise AdsRefusal(_error("experiment_error", "DUPLICATE_EXPERIMENT_CAMPAIGN_NAME", text, "experiment"))
    draft.base_campaign = base.resource_name
    set_enum(draft, "experiment_type", "DRAFT")
    store.put(KINDS["campaign"], draft)
    _copy_children(store, reviews, base, draft)
    changed = copy_of(treatment)
    changed.in_design_campaigns.append(draft.resource_name)
    store.put(KINDS["experiment_arm"], changed)


def _copy_children(store: AccountStore, reviews: AdReviews, base: Message, draft: Message) -> None:
    for criterion in store.children("campaign_criterion", "campaign", base.resource_name):
        _copy(store, "campaign_criterion", criterion, "campaign", draft.resource_name)
    for group in store.children("ad_group", "campaign", base.resource_name):
        twin = copy_of(group)
        twin.id = store.call.next_id()
        twin.resource_name = store.resource_name("adGroups", twin.id)
        twin.campaign = draft.resource_name
        twin.base_ad_group = group.resource_name
        store.put(KINDS["ad_group"], twin)
        for kind in ("ad_group_criterion", "ad_group_bid_modifier"):
            for child in store.children(kind, "ad_group", group.resource_name):
                _copy(store, kind, child, "ad_group", twin.resource_name)
        for advert in store.children("ad_group_ad", "ad_group", group.resource_name):
            _copy_advert(store, reviews, advert, twin.resource_name)


def _copy(store: AccountStore, kind: str, child: Message, owner: str, name: str) -> None:
    twin = copy_of(child)
    setattr(twin, owner, name)
    number = key_of(child.resource_name).split("~")[1]
    twin.resource_name = store.resource_name(KINDS[kind].collection, key_of(name), number)
    store.put(KINDS[kind], twin)


def _copy_advert(store: AccountStore, reviews: AdReviews, advert: Message, group: str) -> None:
    twin = copy_of(advert)
    twin.ad_group = group
    twin.ad.id = store.call.next_id()
    twin.ad.resource_name = store.resource_name("ads", twin.ad.id)
    twin.resource_name = store.resource_name("adGroupAds", key_of(group), twin.ad.id)
    store.put(KINDS["ad_group_ad"], twin)
    reviews.submit(twin.ad.id, over=reviews.approved_at(advert.ad.id))


# Its life


def _with_status(store: AccountStore, experiment: Message, status: str, *allowed: str) -> Message:
    before = enum_name(experiment, "status")
    if before not in allowed:
        text = f"An experiment that is {before} cannot become {status}: it has to be {' or '.join(allowed)}."
        raise AdsRefusal(_error("experiment_error", "STATUS_TRANSITION_INVALID", text, "status"))
    changed = copy_of(experiment)
    set_enum(changed, "status", status)
    store.put(KINDS["experiment"], changed)
    return changed


def _both_arms(store: AccountStore, experiment: Message) -> tuple[Message, Message]:
    control, treatment = arms_of(store, experiment.resource_name)
    if control is None or treatment is None:
        text = "An experiment needs a control and a treatment arm."
        raise AdsRefusal(_error("experiment_error", "MISSING_EXPERIMENT_ARMS", text, "resource_name"))
    return control, treatment


def schedule_experiment(store: AccountStore, experiment: Message) -> set[str]:
    """Start an experiment on its first day, or now; the campaigns whose serving changes."""
    control, treatment = _both_arms(store, experiment)
    total = control.traffic_split + treatment.traffic_split
    if total != _WHOLE_PERCENT:
        code = "SUM_TRIAL_ARM_TRAFFIC_UNEQUALS_TO_TRIAL_TRAFFIC_SPLIT_DENOMINATOR"
        raise AdsRefusal(_error("experiment_error", code, f"The traffic splits sum to {total}, not to 100."))
    changed = _with_status(store, experiment, "ENABLED", "SETUP")
    if not changed.start_date:
        changed.start_date = store.now.date().isoformat()
        store.put(KINDS["experiment"], changed)
    running = copy_of(treatment)
    running.campaigns[:] = treatment.in_design_campaigns
    store.put(KINDS["experiment_arm"], running)
    for name in running.campaigns:
        campaign = copy_of(store.existing(name))
        set_enum(campaign, "experiment_type", "EXPERIMENT")
        store.put(KINDS["campaign"], campaign)
    return {*control.campaigns, *running.campaigns}


def end_experiment(store: AccountStore, experiment: Message) -> set[str]:
    """Stop an experiment at once: the control's campaign has all users again."""
    control, treatment = _both_arms(store, experiment)
    changed = copy_of(_with_status(store, experiment, "HALTED", "ENABLED"))
    changed.end_date = store.now.date().isoformat()
    store.put(KINDS["experiment"], changed)
    return {*control.campaigns, *treatment.campaigns}


def promote_experiment(store: AccountStore, experiment: Message) -> set[str]:
    """End an experiment and give the control's campaign the bids and bidding of the treatment's."""
    control, treatment = _both_arms(store, experiment)
    _with_status(store, experiment, "PROMOTED", "ENABLED", "HALTED")
    base, trial = copy_of(store.existing(control.campaigns[0])), store.existing(treatment.campaigns[0])
    bidding = trial.WhichOneof("campaign_bidding_strategy")
    if bidding == "bidding_strategy":
        base.bidding_strategy = trial.bidding_strategy
    else:
        getattr(base, bidding).CopyFrom(getattr(trial, bidding))
        getattr(base, bidding).SetInParent()
    store.put(KINDS["campaign"], base)
    for group in store.children("ad_group", "campaign", trial.resource_name):
        original = store.refer(group.base_ad_group) if group.base_ad_group else None
        if original is not None and group.HasField("cpc_bid_micros"):
            changed = copy_of(original)
            changed.cpc_bid_micros = group.cpc_bid_micros
            store.put(KINDS["ad_group"], changed)
    return {*control.campaigns, *treatment.campaigns}


def graduate_experiment(store: AccountStore, experiment: Message, budgets: dict[str, str]) -> set[str]:
    """Make the treatment's campaign one of its own, with a budget of its own; `budgets` maps campaign to budget."""
    control, treatment = _both_arms(store, experiment)
    _with_status(store, experiment, "GRADUATED", "ENABLED", "HALTED")
    for name in treatment.campaigns:
        budget, problems = _lookup(store, budgets.get(name, ""), "campaign_budget", "campaign_budget_mappings")
        if budget is None:
            raise AdsRefusal(*problems)
        campaign = copy_of(store.existing(name))
        campaign.campaign_budget = budget.resource_name
        set_enum(campaign, "experiment_type", "BASE")
        store.put(KINDS["campaign"], campaign)
    return {*control.campaigns, *treatment.campaigns}
