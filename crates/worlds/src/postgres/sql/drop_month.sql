SELECT drop_month($1::int, $2::bigint - $3::bigint)
