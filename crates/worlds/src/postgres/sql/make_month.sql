SELECT make_month(month_of($1::bigint) + $2::int)
