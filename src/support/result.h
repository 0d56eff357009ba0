#pragma once
#include <edgec/result.h>
