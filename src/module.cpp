// What the server loads: the magic block and the initialization.
#include "guard/drop_guard.hpp"
#include "pg/boundary.hpp"
#include "pg/settings.hpp"
#include "worker/worker.hpp"

extern "C" {

#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "reservation", .version = RESERVATION_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PGDLLEXPORT void _PG_init(void);
PGDLLEXPORT void _PG_init(void)
{
    reservation::boundary([] {
        reservation::define_settings();
        reservation::install_drop_guard();
        reservation::register_launcher();
    });
}

}  // extern "C"
