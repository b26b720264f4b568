! Calls functions of the library for the bodies of a file, and writes the results: see test_export.py.
program driver
  use, intrinsic :: iso_c_binding
  use polhode
  implicit none
  integer(c_int64_t) :: n, i, bad
  real(c_double), allocatable :: inertia(:, :), m(:, :), q(:, :), t(:), m_out(:, :), q_out(:, :)
  real(c_double) :: x(3), y(4), attitude(3, 3), turned(3, 3), period, precession, motion(polhode_motion)
  character(1000) :: source, target
  call get_command_argument(1, source)
  call get_command_argument(2, target)
  open (10, file=trim(source), access='stream', form='unformatted', status='old')
  open (11, file=trim(target), access='stream', form='unformatted', status='replace')
  read (10) n
  allocate (inertia(3, n), m(3, n), q(4, n), t(n), m_out(3, n), q_out(4, n))
  read (10) inertia, m, q, t
  bad = polhode_propagate(n, inertia, m, q, t, m_out, q_out)
  write (11) m_out, q_out
  attitude = 0
  do i = 1, 3
    attitude(i, i) = 1
  end do
  do i = 1, n
    bad = bad + polhode_step(inertia(:, i), m(:, i), q(:, i), t(i), x, y)
    write (11) x, y
    bad = bad + polhode_period(inertia(:, i), m(:, i), period, precession)
    write (11) period, precession
    bad = bad + polhode_motion_prepare(inertia(:, i), m(:, i), q(:, i), motion)
    bad = bad + polhode_motion_evaluate(motion, 1_c_int64_t, t(i:i), x, y)
    write (11) x, y
    call frb_step(x, turned, t(i), inertia(:, i), m(:, i), attitude, 0)
    write (11) x, turned
    call quat_step(x, y, t(i), inertia(:, i), m(:, i), q(:, i), 5)
    write (11) x, y
  end do
  if (bad /= 0) stop 1
end program driver
