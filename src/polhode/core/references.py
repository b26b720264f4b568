"""Publications on which flows, schemes, methods and problems are based."""

from __future__ import annotations

CELLEDONI_2008 = (
    "E. Celledoni, F. Fassò, N. Säfström, A. Zanna, The exact computation of the free rigid body motion and its use in "
    "splitting methods, SIAM J. Sci. Comput. 30 (2008) 2084-2112"
)
FRB_2010 = (
    "E. Celledoni, A. Zanna, Algorithm 903: FRB, Fortran routines for the exact computation of free rigid body "
    "motions, ACM Trans. Math. Softw. 37 (2010) 23"
)
GUSTAFSSON_2010 = (
    "E. Gustafsson, Accurate discretizations of torqued rigid body dynamics, Master's thesis, NTNU Trondheim (2010)"
)
VILMART_2013 = "G. Vilmart, Rigid body dynamics, in: Encyclopedia of Applied and Computational Mathematics (2015)"
HAIRER_VILMART_2006 = (
    "E. Hairer, G. Vilmart, Preprocessed discrete Moser-Veselov algorithm for the full dynamics of a rigid body, "
    "J. Phys. A 39 (2006) 13225-13235"
)
MOSER_VESELOV_1991 = (
    "J. Moser, A. P. Veselov, Discrete versions of some classical integrable systems and factorization of matrix "
    "polynomials, Commun. Math. Phys. 139 (1991) 217-243"
)
MCLACHLAN_1993 = (
    "R. I. McLachlan, Explicit Lie-Poisson integration and the Euler equations, Phys. Rev. Lett. 71 (1993) 3043-3046"
)
REICH_1994 = "S. Reich, Momentum conserving symplectic integrators, Physica D 76 (1994) 375-383"
MILLER_2002 = (
    "T. F. Miller, M. Eleftheriou, P. Pattnaik, A. Ndirango, D. Newns, G. J. Martyna, Symplectic quaternion scheme for "
    "biophysical molecular dynamics, J. Chem. Phys. 116 (2002) 8649-8659"
)
VAN_ZON_SCHOFIELD_2007 = (
    "R. van Zon, J. Schofield, Numerical implementation of the exact dynamics of free rigid bodies, "
    "J. Comput. Phys. 225 (2007) 145-164"
)
KOSENKO_1998 = (
    "I. I. Kosenko, Integration of the equations of a rotational motion of a rigid body in quaternion algebra: the "
    "Euler case, J. Appl. Math. Mech. 62 (1998) 193-200"
)
BLANES_2000 = (
    "S. Blanes, F. Casas, J. Ros, Improved high order integrators based on the Magnus expansion, "
    "BIT Numer. Math. 40 (2000) 434-450"
)
BLANES_CASAS_ROS_2000 = (
    "S. Blanes, F. Casas, J. Ros, Processing symplectic methods for near-integrable Hamiltonian systems, "
    "Celest. Mech. Dyn. Astron. 77 (2000) 17-36"
)
YOSHIDA_1990 = "H. Yoshida, Construction of higher order symplectic integrators, Phys. Lett. A 150 (1990) 262-268"
SUZUKI_1990 = (
    "M. Suzuki, Fractal decomposition of exponential operators with applications to many-body theories and Monte Carlo "
    "simulations, Phys. Lett. A 146 (1990) 319-323"
)
KAHAN_LI_1997 = (
    "W. Kahan, R.-C. Li, Composition constants for raising the orders of unconventional schemes for ordinary "
    "differential equations, Math. Comput. 66 (1997) 1089-1099"
)
SOFRONIOU_SPALETTA_2005 = (
    "M. Sofroniou, G. Spaletta, Derivation of symmetric composition constants for symmetric integrators, "
    "Optim. Methods Softw. 20 (2005) 597-613"
)
STRANG_1968 = (
    "G. Strang, On the construction and comparison of difference schemes, SIAM J. Numer. Anal. 5 (1968) 506-517"
)
BLANES_MOAN_2002 = (
    "S. Blanes, P. C. Moan, Practical symplectic partitioned Runge-Kutta and Runge-Kutta-Nyström methods, "
    "J. Comput. Appl. Math. 142 (2002) 313-330"
)
BLANES_CASAS_ESCORIHUELA_2022 = (
    "S. Blanes, F. Casas, A. Escorihuela-Tomàs, Runge-Kutta-Nyström symplectic splitting methods of order 8, "
    "Appl. Numer. Math. 182 (2022) 14-27"
)
MCLACHLAN_1995 = "R. I. McLachlan, Composition methods in the presence of small parameters, BIT 35 (1995) 258-268"
LASKAR_ROBUTEL_2001 = (
    "J. Laskar, P. Robutel, High order symplectic integrators for perturbed Hamiltonian systems, "
    "Celest. Mech. Dyn. Astron. 80 (2001) 39-62"
)
BLANES_2013 = (
    "S. Blanes, F. Casas, A. Farrés, J. Laskar, J. Makazaga, A. Murua, New families of symplectic splitting methods "
    "for numerical integration in dynamical astronomy, Appl. Numer. Math. 68 (2013) 58-72"
)
PRINCE_DORMAND_1981 = (
    "P. J. Prince and J. R. Dormand, High order embedded Runge-Kutta formulae, J. Comput. Appl. Math. 7 (1981) 67-75"
)
HAIRER_1993 = "E. Hairer, S. P. Norsett and G. Wanner, Solving Ordinary Differential Equations I, 2nd edition (1993)"
JORBA_2005 = (
    "A. Jorba and M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor "
    "methods, Exp. Math. 14 (2005) 99-117"
)
MUNTHE_KAAS_1999 = "H. Munthe-Kaas, High order Runge-Kutta methods on manifolds, Appl. Numer. Math. 29 (1999) 115-127"
WISDOM_1996 = (
    "J. Wisdom, M. Holman and J. Touma, Symplectic correctors, in: Integration Algorithms and Classical Mechanics, "
    "Fields Institute Communications 10 (1996) 217-244"
)
WISDOM_2006 = "J. Wisdom, Symplectic correctors for canonical heliocentric n-body maps, Astron. J. 131 (2006) 2294-2298"
ROWLANDS_1991 = "G. Rowlands, A numerical algorithm for Hamiltonian systems, J. Comput. Phys. 97 (1991) 235-239"
CHIN_1997 = (
    "S. A. Chin, Symplectic integrators from composite operator factorizations, Phys. Lett. A 226 (1997) 344-348"
)
OMELYAN_2002 = (
    "I. P. Omelyan, I. M. Mryglod, R. Folk, Optimized Forest-Ruth- and Suzuki-like algorithms for integration of "
    "motion in many-body systems, Comput. Phys. Commun. 146 (2002) 188-202"
)
OMELYAN_2002_GRADIENT = (
    "I. P. Omelyan, I. M. Mryglod, R. Folk, Construction of high-order force-gradient algorithms for integration of "
    "motion in classical and quantum systems, Phys. Rev. E 66 (2002) 026701"
)
VAN_ZON_SCHOFIELD_2007_SYMPLECTIC = (
    "R. van Zon, J. Schofield, Symplectic algorithms for simulations of rigid body systems using the exact solution of "
    "free motion, Phys. Rev. E 75 (2007) 056701"
)
BETSCH_SIEBERT_2009 = (
    "P. Betsch, R. Siebert, Rigid body dynamics in terms of quaternions: Hamiltonian formulation and conserving "
    "numerical integration, Int. J. Numer. Meth. Engng. 79 (2009) 444-473"
)
