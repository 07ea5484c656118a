# Compiles a part of the project, as a workload for bench/record_command.py. ROOT: where its sources are.
objects := $(notdir $(patsubst %.c,%.o,$(wildcard $(ROOT)/writer/*.c)))
vpath %.c $(ROOT)/writer

all: $(objects)

%.o: %.c
	$(CC) -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -O2 -g -I$(ROOT) -c $< -o $@
