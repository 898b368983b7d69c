program sums
  integer, allocatable :: a(:)
  integer :: i
  allocate(a(1000))
  do i = 1, 1000
    a(i) = i * i
  end do
  print *, sum(a)
end program
