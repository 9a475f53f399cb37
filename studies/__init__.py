"""Studies of this project, which are not published with it.

Importing it registers the worlds of real people and the predecessors.
"""

from likewise.registry import register

register(
    "worlds",
    {
        "linear": "studies.baselines.gillen:Linear",
        "turns-strict": "studies.panels_that_change:TurnsStrict",
        "erring": "studies.panels_that_change:ErringLoans",
        "careless": "studies.panels_that_change:CarelessLoans",
        "admissions": "studies.people.admissions:Admissions",
        "compas-judged": "studies.people.worlds:CompasJudged",
        "compas-fitted": "studies.people.worlds:CompasFitted",
        "phd-admissions": "studies.people.worlds:PhdAdmissions",
        "recidivism-fitted": "studies.people.worlds:RecidivismFitted",
    },
)
register(
    "baselines",
    {
        "fixed-trade-off": "studies.baselines.predecessors:fixed_trade_off",
        "bechavod-jung-wu": "studies.baselines.predecessors:bechavod_jung_wu",
        "bechavod-roth": "studies.baselines.predecessors:bechavod_roth",
        "exp2": "studies.baselines.predecessors:exp2",
        "gillen": "studies.baselines.gillen:gillen",
        "sinha-vaze": "studies.baselines.predecessors:sinha_vaze",
        "learnt-metric": "studies.baselines.learnt_metric:learnt_metric",
    },
)
