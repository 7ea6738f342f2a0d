-- The project's own schema: orders are packed by workers that say now and then that they live.
CREATE TABLE orders (
  id text PRIMARY KEY,
  status text NOT NULL DEFAULT 'waiting',
  worker text,
  packed_times integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  silent_at timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE INDEX ON orders (silent_at, id) WHERE status = 'packing';

CREATE VIEW lost_orders AS
SELECT id, id || '/' || packed_times AS run_id, status, created_at, silent_at AS lost_at, worker
FROM public.orders WHERE status = 'packing' AND silent_at <= statement_timestamp();

-- Back into the queue, unless the worker has spoken again meanwhile.
CREATE FUNCTION requeue_order(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE public.orders AS o SET status = 'waiting', worker = NULL, silent_at = 'infinity'
   WHERE o.id = $1 AND o.status = 'packing' AND o.silent_at <= statement_timestamp() RETURNING true $$;

SELECT ql3.ql3_attach_source('packing', 'lost_orders', 'requeue_order(text,text,jsonb)');
