// The one door to the server's headers. Standard, Boost and core headers come first, because the server's
// macros (Min, ERROR, snprintf, ...) break them; every file of src/pg includes this one before anything else.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/container/static_vector.hpp>

#include "../core/backoff.hpp"
#include "../core/claim.hpp"
#include "../core/dispatch.hpp"
#include "../core/error.hpp"
#include "../core/fence.hpp"
#include "../core/intervals.hpp"
#include "../core/limits.hpp"
#include "../core/names.hpp"
#include "../core/page_share.hpp"
#include "../core/state.hpp"
#include "../core/token.hpp"

extern "C" {
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
}
