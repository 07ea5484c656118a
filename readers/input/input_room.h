/* The room for temporary files. Archives can be larger than they look, and several recordings can be copied at a time.
 * Together the copies leave other programs half of the room that the first of them found. */
#ifndef GECKO_INPUT_ROOM_H
#define GECKO_INPUT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Call it for each new temporary file, and input_room_leave once it is closed. */
void input_room_join(int descriptor);
void input_room_leave(uint64_t taken_bytes);

/* Returns whether the file may grow by so many bytes. They are taken then. */
bool input_room_take(uint64_t bytes_count);

/* Returns how much room the first of the files found. */
uint64_t input_room_bytes(void);

#endif
