"""Studies of this project, which are not published with it.

Importing it registers the worlds of real people and the predecessors.
"""

from likewise.registry import register

register(
    "worlds",
    {
        "linear": "likewise.worlds.linear:Linear",
        "compas-judged": "likewise.worlds.people.compas:CompasJudged",
        "compas-fitted": "likewise.worlds.people.compas:CompasFitted",
        "phd-admissions": "likewise.worlds.people.phd:PhdAdmissions",
        "taiwan-credit": "likewise.worlds.people.credit:TaiwanCredit",
        "german-credit": "likewise.worlds.people.credit:GermanCredit",
        "law-school": "likewise.worlds.people.credit:LawSchool",
    },
)
register(
    "baselines",
    {
        "fixed-trade-off": "likewise.baselines.fixed_trade_off:fixed_trade_off",
        "bechavod-jung-wu": "likewise.baselines.bechavod_jung_wu:bechavod_jung_wu",
        "bechavod-roth": "likewise.baselines.bechavod_roth:bechavod_roth",
        "exp2": "likewise.baselines.bechavod_roth:exp2",
        "gillen": "likewise.baselines.gillen:gillen",
    },
)
