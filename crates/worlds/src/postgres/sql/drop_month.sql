SELECT drop_month($1::int)
