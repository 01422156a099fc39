"""Which sweeps suffice for a Jacobian or a Hessian?"""
