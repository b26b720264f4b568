"""Schemes for weak torques, of high order in the step and low order in the torque.

ABA82 is Gauss-Legendre quadrature with four nodes: the kicks are its weights, the drifts lead from node to node.
"""

from __future__ import annotations

from polhode.core.references import BLANES_2013, LASKAR_ROBUTEL_2001, MCLACHLAN_1995
from polhode.flows.quadrature import gauss_legendre
from polhode.methods.scheme import Scheme

_NODES, _WEIGHTS = gauss_legendre(4)

SCHEMES = (
    Scheme.from_half(
        "ABA82",
        2,
        f"A {_NODES[0]} B {_WEIGHTS[0]} A {_NODES[1] - _NODES[0]} B A",
        generalized_order=(8, 2),
        references=(MCLACHLAN_1995, LASKAR_ROBUTEL_2001),
    ),
    Scheme.from_half(
        "ABA84",
        4,
        """
        A 0.0753469602698928884165278036835
        B 0.190225939373676619245230762738
        A 0.517916854688256782300773978496
        B 0.846524070443526257055080544647
        A
        B
        """,
        generalized_order=(8, 4),
        references=(MCLACHLAN_1995,),
    ),
    Scheme.from_half(
        "ABA104",
        4,
        """
        A 0.0470671006459725061294788763724
        B 0.118881917368197019945350395085
        A 0.18475693541708810692473761937
        B 0.24105046055150156574416678659
        A 0.282706005679836205324361656554
        B -0.273286666705323806054311398166
        A
        B
        """,
        generalized_order=(10, 4),
        references=(BLANES_2013,),
    ),
    Scheme.from_half(
        "ABA864",
        4,
        """
        A 0.0711334264982231177779387300062
        B 0.183083687472197221961703757166
        A 0.241153427956640098736487795326
        B 0.310782859898574869507522291054
        A 0.521411761772814789212136078068
        B -0.0265646185119588006972121379165
        A
        B
        """,
        generalized_order=(8, 6, 4),
        references=(BLANES_2013,),
    ),
    Scheme.from_half(
        "ABA1064",
        4,
        """
        A 0.0380944974224121954569753223086
        B 0.0958588808370752106107715037715
        A 0.145298716116913749294020072661
        B 0.204446153142998780680507783916
        A 0.207627695725541250716205611325
        B 0.217070347978991101714338592431
        A 0.435909703651526159223154862401
        B
        A
        """,
        generalized_order=(10, 6, 4),
        references=(BLANES_2013,),
    ),
)
